package fleet

import "github.com/enrichd/enrichd/providers/fakevendor/strict"

// Limits tells the service a vendor's own limits.
func Limits(rules []strict.Limit) (list []any) {
	for _, rule := range rules {
		limit := Config{"name": rule.Name, "shape": string(rule.Shape), "amount": rule.Amount}
		if rule.Window > 0 {
			limit["window"] = rule.Window.String()
		}
		if rule.Burst > 0 {
			limit["burst"] = rule.Burst
		}
		if rule.Shape == strict.Day || rule.Shape == strict.Month {
			limit["shape"], limit["calendar"] = "fixed", string(rule.Shape)
		}
		if rule.Zone != "" {
			limit["zone"] = rule.Zone
		}
		if rule.ResetAt != "" {
			limit["reset_at"] = rule.ResetAt
		}
		if rule.Unit != "" {
			limit["unit"] = string(rule.Unit)
		}
		if len(rule.Operations) > 0 {
			limit["operations"] = rule.Operations
		}
		list = append(list, limit)
	}
	return list
}
