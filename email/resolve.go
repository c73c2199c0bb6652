package email

import "strings"

// pipeline is the state of one run.
type pipeline struct {
	n       *Normalizer
	repairs repairs
}

// maxDepth bounds how many layers of packaging are taken off.
const maxDepth = 8

// run takes raw through the pipeline once.
func (p *pipeline) run(raw string) (mailbox, *Error) {
	t, err := p.clean(text{s: raw})
	if err != nil {
		return mailbox{}, err
	}
	if decoded, changed := unescapeHTML(t); changed {
		p.repairs |= repairEntities
		if t, err = p.clean(decoded); err != nil {
			return mailbox{}, err
		}
	}
	if !strings.Contains(t.s, "@") && strings.Contains(t.s, "%40") {
		decoded, _ := unescapePercent(t)
		p.repairs |= repairPercent
		if t, err = p.clean(decoded); err != nil {
			return mailbox{}, err
		}
	}
	switch at := strings.LastIndexByte(t.s, '@'); {
	case at <= 0 && isCommand(t.s):
		return mailbox{}, refuse(ClassFormula, t.pos(0), "the text is a spreadsheet formula")
	case at < 0:
		return p.absent(t)
	}
	return p.resolve(t, 0)
}

// unreadable refuses input that is not looked into at all.
func unreadable(raw string) *Error {
	switch {
	case len(raw) > MaxInput:
		return refuse(ClassTooLong, MaxInput, "the input is longer than any address can be")
	case strings.HasPrefix(raw, "\xff\xfe"), strings.HasPrefix(raw, "\xfe\xff"):
		return refuse(ClassBadEncoding, 0, "the input is UTF-16, not UTF-8")
	}
	return nil
}

// clean scrubs t and refuses what must not even be looked into.
func (p *pipeline) clean(t text) (text, *Error) {
	t, err := p.scrub(t)
	switch {
	case err != nil:
		return text{}, err
	case t.s == "":
		return text{}, refuse(ClassEmpty, -1, "there is no text")
	case isFormula(t.s):
		return text{}, refuse(ClassFormula, t.pos(0), "the text is a spreadsheet formula")
	}
	return t, nil
}

// resolve finds the one mailbox in t. It takes off packaging that surrounds all
// of t, then looks at what stands side by side.
func (p *pipeline) resolve(t text, depth int) (mailbox, *Error) {
	for ; ; depth++ {
		if depth > maxDepth {
			return mailbox{}, refuse(ClassAmbiguous, t.pos(0), "the address is wrapped too many times")
		}
		t = p.trimSeparators(t)
		if inner, ok := p.unwrap(t); ok {
			t = inner
			continue
		}
		if inner, ok := unwrapHalf(t); ok {
			p.repairs |= repairWrapper
			t = inner
			continue
		}
		if inner, ok := stripTags(t); ok {
			p.repairs |= repairWrapper
			t = inner
			continue
		}
		rest, label, ok, err := p.stripPrefix(t)
		if err != nil {
			return mailbox{}, err
		}
		if ok && strings.Contains(label.s, "@") {
			return p.agree([]text{rest, label}, depth+1)
		}
		if !ok {
			break
		}
		t = rest
	}
	switch {
	case t.s == "":
		return mailbox{}, refuse(ClassEmpty, -1, "there is no text")
	case strings.Count(t.s, "@") > maxCandidates:
		return mailbox{}, refuse(ClassMultiple, t.pos(0), "there are too many @ signs")
	}
	if plain, ok := deobfuscate(t); ok {
		if !p.n.config.DecodeObfuscated {
			return mailbox{}, refuse(ClassObfuscated, t.pos(0), "the address is spelled out against robots")
		}
		p.repairs |= repairDeobfuscate
		t = plain
	}
	if target, label, ok := link(t); ok {
		switch {
		case !strings.Contains(label.s, "@"):
			return p.resolve(target, depth+1)
		case strings.Contains(target.s, "@"):
			return p.agree([]text{target, label}, depth+1)
		}
		return mailbox{}, refuse(ClassAmbiguous, target.pos(0), "the link leads elsewhere")
	}
	switch angle, group := brackets(t.s); {
	case angle:
		return p.angles(t, depth)
	case group:
		return p.groups(t, depth)
	}
	return p.words(t, depth)
}

// brackets reports whether s has angle brackets, and others, outside quotes.
func brackets(s string) (angle, group bool) {
	angle, group = strings.ContainsAny(s, "<>"), strings.ContainsAny(s, "([")
	if !angle && !group || !strings.Contains(s, `"`) {
		return angle, group
	}
	angle, group = false, false
	for i := 0; i < len(s) && !angle; i = step(s, i) {
		switch s[i] {
		case '<', '>':
			angle = true
		case '(', '[':
			group = true
		}
	}
	return angle, group
}

// agree resolves all candidates, which must be the same mailbox.
func (p *pipeline) agree(candidates []text, depth int) (mailbox, *Error) {
	first, err := p.resolve(candidates[0], depth)
	for _, c := range candidates[1:] {
		if sameText(c.s, candidates[0].s) {
			p.repairs |= repairDedupe
			continue
		}
		if err == nil {
			if m, err := p.resolve(c, depth); err == nil && m.same(first) {
				p.repairs |= repairDedupe
				continue
			}
		}
		return mailbox{}, refuse(ClassMultiple, c.pos(0), "there is more than one address")
	}
	return first, err
}

// sameText reports texts that differ in the case of ASCII letters at most. Full
// case folding would equate different letters.
func sameText(a, b string) bool {
	return a == b || strings.EqualFold(a, b) && isASCII(a) && isASCII(b)
}
