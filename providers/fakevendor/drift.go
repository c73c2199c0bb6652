package fakevendor

import "slices"

// drift returns a copy of a value in which the field at the path is changed. A
// path that leads nowhere changes nothing; "*" stands for every element.
func drift(value any, path []string, change string) any {
	switch v := value.(type) {
	case object:
		changed := slices.Clone(v)
		for i, m := range changed {
			switch {
			case m.name != path[0]:
			case len(path) > 1:
				changed[i].value = drift(m.value, path[1:], change)
			default:
				changed[i] = changeField(m, change)
			}
		}
		return changed
	case list:
		if path[0] != "*" || len(path) == 1 {
			return v
		}
		changed := slices.Clone(v)
		for i := range changed {
			changed[i] = drift(changed[i], path[1:], change)
		}
		return changed
	}
	return value
}

// changeField is what becomes of one field.
func changeField(m member, change string) member {
	switch change {
	case "remove":
		m.value = omitted{}
	case "null":
		m.value = nil
	case "retype":
		if _, compound := m.value.(object); compound {
			m.value = "[object Object]"
		} else {
			m.value = object{{"value", m.value}}
		}
	default:
		m.name += "_v2"
	}
	return m
}
