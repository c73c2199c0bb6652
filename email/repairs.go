package email

// repairs is the set of things done to an input.
type repairs uint32

const (
	repairTrim repairs = 1 << iota
	repairInvisible
	repairWidth
	repairEntities
	repairPercent
	repairPrefix
	repairAngle
	repairComment
	repairWrapper
	repairSeparator
	repairTrailingDot
	repairDedupe
	repairUnquote
	repairDeobfuscate
	repairExtract
	repairLowercase
	repairUnicode
	repairIDNA
)

// packaging is the repairs that take something off around the address.
const packaging = repairPrefix | repairAngle | repairComment | repairWrapper | repairSeparator |
	repairTrailingDot | repairDedupe | repairExtract

var repairNames = [...]string{
	"trim", "strip_invisible", "width_fold", "html_unescape", "percent_decode", "strip_prefix",
	"unwrap_angle", "strip_comment", "strip_wrapper", "strip_separator", "strip_trailing_dot",
	"dedupe", "unquote_local", "deobfuscate", "extract", "lowercase", "unicode", "idna",
}

func (r repairs) names() []string {
	if r == 0 {
		return nil
	}
	var names []string
	for i, name := range repairNames {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}
