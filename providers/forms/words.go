package forms

import (
	"strings"

	"github.com/enrichd/enrichd/enrich"
)

// Vocabulary translates a vendor's words for one attribute into ours. The nil
// Vocabulary has the words common to all vendors.
type Vocabulary struct {
	exact     map[string]ranked
	patterns  []rankedPattern
	orCommon  bool
	stripping string
}

// ranked is a word of ours and its place among the definition's rows; "" is
// the known word without a value.
type ranked struct {
	word string
	rank int
}

// rankedPattern is a vendor's word with stars in it.
type rankedPattern struct {
	Pattern
	ranked
}

// Pattern is a text in which each star stands for any text.
type Pattern struct{ parts []string }

// NewPattern makes a pattern of a text with stars.
func NewPattern(text string) Pattern { return Pattern{strings.Split(text, "*")} }

// NewVocabulary makes an empty vocabulary. With orCommon, words that it lacks
// are looked up among the common ones. The prefix strip is taken off the
// vendor's words first.
func NewVocabulary(orCommon bool, strip string) *Vocabulary {
	return &Vocabulary{exact: map[string]ranked{}, orCommon: orCommon, stripping: strings.ToLower(strip)}
}

// Add says that the vendor's word means ours; ours is "" for a known word
// without a value. A star in the vendor's word stands for any text. Of several
// that match, the one added first counts.
func (v *Vocabulary) Add(theirs, ours string) {
	rank := ranked{word: ours, rank: len(v.exact) + len(v.patterns)}
	folded := foldWord(theirs)
	if strings.Contains(theirs, "*") {
		v.patterns = append(v.patterns, rankedPattern{NewPattern(folded), rank})
		return
	}
	if _, taken := v.exact[folded]; !taken {
		v.exact[folded] = rank
	}
}

func (v *Vocabulary) lookUp(a enrich.Attribute, text string) (word string, known bool) {
	if v == nil {
		word, known = common[a][foldWord(text)]
		return word, known
	}
	folded := foldWord(strings.TrimPrefix(strings.ToLower(text), v.stripping))
	best, known := v.exact[folded]
	for _, pattern := range v.patterns {
		if (!known || pattern.rank < best.rank) && pattern.Matches(folded) {
			best, known = pattern.ranked, true
		}
	}
	if !known && v.orCommon {
		word, known = common[a][folded]
		return word, known
	}
	return best.word, known
}

// Matches tells whether the whole text matches.
func (p Pattern) Matches(text string) bool {
	if len(p.parts) == 1 {
		return text == p.parts[0]
	}
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range p.parts[1 : len(p.parts)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
}

// foldWord makes spellings of one word equal: case, blanks, hyphens,
// underscores and slashes.
func foldWord(word string) string {
	word = strings.Map(func(r rune) rune {
		switch r {
		case '-', '_', '/', '‑', '–':
			return ' '
		}
		return r
	}, word)
	return strings.ToLower(foldSpace(word))
}

// common holds the words that mean the same at any vendor, folded, with "" for
// known words without a value: they name a level where a field of work is
// asked, or the reverse.
var common = map[enrich.Attribute]map[string]string{
	"person.seniority": rows(map[string]string{
		"owner":   "owner",
		"founder": "founder|co-founder|cofounder|founder/owner",
		"c_suite": "c-suite|c-level|cxo|executive",
		"partner": "partner",
		"vp":      "vp|vice president|svp|evp",
		"head":    "head", "director": "director", "manager": "manager", "senior": "senior",
		"entry":  "entry|entry level|junior",
		"intern": "intern|internship|trainee|training",
		"":       "non-manager|individual contributor|staff|mid|unpaid|other",
	}),
	"person.department": rows(map[string]string{
		"engineering": "engineering|engineering & technical|software|r&d",
		"product":     "product|product management",
		"design":      "design|arts and design|creative",
		"marketing":   "marketing|online marketing|communication|media and communication|public relations",
		"sales":       "sales|business development|partnerships",
		"support":     "support|customer service|customer success",
		"operations":  "operations|administrative|purchasing|supply chain|manufacturing|quality assurance",
		"finance":     "finance|accounting",
		"hr":          "hr|human resources|recruiting",
		"legal":       "legal",
		"it":          "it|information technology",
		"data":        "data|data science|analytics|research & analytics",
		"education":   "education",
		"medical":     "medical|health|healthcare services|health professional",
		"other":       "other|consulting|real estate",
		"":            "c-suite|executive|management|general management|leadership|founder|chief executive|entrepreneurship",
	}),
	"person.email_status": rows(map[string]string{
		"valid": "valid", "invalid": "invalid", "accept_all": "accept_all|catch-all|catchall",
		"disposable": "disposable", "role": "role", "unknown": "unknown",
	}),
}

// rows turns "our word: their|words" around.
func rows(ours map[string]string) map[string]string {
	byTheirs := map[string]string{}
	for word, theirs := range ours {
		for their := range strings.SplitSeq(theirs, "|") {
			byTheirs[foldWord(their)] = word
		}
	}
	return byTheirs
}
