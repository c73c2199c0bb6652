package enrich

import "time"

// auditRefusal tells the auditor of a request that was refused before anything
// was looked up. One that could not be read is nobody's.
func (s *Service) auditRefusal(request Request, err error) {
	kind := AsError(err).Kind
	if s.Auditor == nil || kind == Invalid {
		return
	}
	entry := AuditEntry{
		At:        time.Now(),
		RequestID: request.ID,
		Account:   request.Account.Name,
		Consent:   request.Consent,
		Outcome:   string(kind),
	}
	// Only words of ours: a caller may have written anything.
	if _, err := request.purpose(); err == nil {
		entry.Purpose = request.Purpose
	}
	for _, attribute := range request.Wanted {
		if _, ok := SpecOf(attribute); ok {
			entry.Wanted = append(entry.Wanted, attribute)
		}
	}
	s.Auditor.Audit(entry)
}

// auditAnswer tells the auditor how a request ended, and returns what it told:
// nil without an auditor.
func (s *Service) auditAnswer(q *question, answer *Answer, err error) *AuditEntry {
	if s.Auditor == nil {
		return nil
	}
	entry := AuditEntry{
		At:        q.now,
		RequestID: q.id,
		Account:   q.account.Name,
		Purpose:   q.purpose,
		Consent:   q.consent,
		Wanted:    q.wanted,
		Sources:   make(map[Attribute]string, len(answer.Found)),
		Asked:     answer.Attempts,
		Cost:      answer.Cost,
		Outcome:   answer.Completeness.String(),
	}
	if len(q.person.wanted) > 0 {
		entry.Person = q.person.key
	}
	if len(q.company.wanted) > 0 {
		entry.Company = q.company.key
	}
	for _, found := range answer.Found {
		entry.Sources[found.Fact.Attribute] = found.Fact.Source
	}
	if err != nil {
		entry.Outcome = string(AsError(err).Kind)
	}
	s.Auditor.Audit(entry)
	return &entry
}
