package drive

import "testing"

// TestAQuestionSaysAllOfIt: a lane, a budget or a purpose that did not travel
// would be measured as if it had.
func TestAQuestionSaysAllOfIt(t *testing.T) {
	said := Question{Email: "ada@acme.example", Fields: []string{"person.title"}, Lane: "bulk", Budget: 1e9, Purpose: "sales"}.message()
	if said.GetEmail() != "ada@acme.example" || said.GetFields().GetPaths()[0] != "person.title" || said.GetLane().String() != "LANE_BULK" ||
		said.GetBudget().GetSeconds() != 1 || said.GetPurpose() != "sales" {
		t.Errorf("said %v", said)
	}
}
