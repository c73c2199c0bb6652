package trial

import (
	"github.com/enrichd/enrichd/accounts"
	"github.com/enrichd/enrichd/loadtest/fleet"
)

// accounts makes a key for every account of the traffic, and one for looking at
// the service, and returns the configuration that knows them. Without accounts
// in the traffic nobody needs a key.
func (t *trial) accounts() (fleet.Config, error) {
	var list []any
	add := func(name string, admin bool) error {
		if t.keys[name] != "" {
			return nil
		}
		t.keys[name] = accounts.NewKey()
		hash, err := accounts.HashKey(t.keys[name])
		list = append(list, fleet.Config{"name": name, "admin": admin, "keys": []any{fleet.Config{"hash": hash}}})
		return err
	}
	for _, traffic := range t.Traffic {
		if traffic.Account != "" {
			if err := add(traffic.Account, false); err != nil {
				return nil, err
			}
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	if err := add(operator, true); err != nil {
		return nil, err
	}
	return fleet.Config{"accounts": fleet.Config{"list": list}}, nil
}
