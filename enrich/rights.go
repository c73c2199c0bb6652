package enrich

import (
	"fmt"
	"slices"
)

// Allowed tells what the account may not ask: the lane, the purpose or an
// attribute that the request names. Who keeps a request for later asks before.
func (r *Request) Allowed() error {
	if _, err := r.lane(); err != nil {
		return err
	}
	_, err := r.wanted()
	return err
}

// lane is the lane of the request: the one that it names, or the most urgent
// that the account may use.
func (r *Request) lane() (Lane, error) {
	allowed := func(lane Lane) bool { return r.Account.Lanes == nil || slices.Contains(r.Account.Lanes, lane) }
	if r.Lane == "" {
		for _, lane := range Lanes {
			if allowed(lane) {
				return lane, nil
			}
		}
	}
	if !allowed(r.Lane) {
		return "", denied("lane", "lane_not_allowed", fmt.Sprintf("this account may not use the %s lane", r.Lane))
	}
	return r.Lane, nil
}

// wanted lists the attributes that the request wants, sorted and not to be
// changed, all of which the account may see for the purpose it names. Who names
// none gets those that it may see.
func (r *Request) wanted() ([]Attribute, error) {
	forPurpose, err := r.purpose()
	if err != nil {
		return nil, err
	}
	allowed := func(a Attribute) bool {
		return (r.Account.Attributes == nil || slices.Contains(r.Account.Attributes, a)) &&
			(forPurpose == nil || slices.Contains(forPurpose, a))
	}
	if len(r.Wanted) == 0 {
		all := sorted
		if r.Email == "" {
			all, _ = byKind(sorted)
		}
		if r.Account.Attributes == nil && forPurpose == nil {
			return all, nil
		}
		return slices.DeleteFunc(slices.Clone(all), func(a Attribute) bool { return !allowed(a) }), nil
	}
	for _, attribute := range r.Wanted {
		if _, ok := SpecOf(attribute); !ok {
			return nil, &Error{Kind: Invalid, Field: "fields", Reason: "unknown_attribute", Offset: -1, Message: "fields names an attribute that the contract does not have"}
		}
		if !allowed(attribute) {
			return nil, denied("fields", "attribute_not_allowed", fmt.Sprintf("this account may not see %s", attribute))
		}
	}
	wanted := slices.Clone(r.Wanted)
	slices.Sort(wanted)
	return slices.Compact(wanted), nil
}

// purpose returns the attributes that the account may see for the purpose of the
// request, nil for all.
func (r *Request) purpose() ([]Attribute, error) {
	if len(r.Account.Purposes) == 0 {
		return nil, nil
	}
	if r.Purpose == "" {
		return nil, &Error{Kind: Invalid, Field: "purpose", Reason: "required", Offset: -1, Message: "this account must name the purpose of every request"}
	}
	attributes, ok := r.Account.Purposes[r.Purpose]
	if !ok {
		return nil, denied("purpose", "purpose_not_allowed", "this account may not ask for the purpose that the request names")
	}
	return attributes, nil
}

func denied(field, reason, message string) *Error {
	return &Error{Kind: Denied, Field: field, Reason: reason, Offset: -1, Message: message}
}
