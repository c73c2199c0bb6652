// Package email turns what people type, paste and export into one canonical
// address, or says why it cannot.
//
// It removes packaging (white space, invisible characters, display names,
// brackets, quotes, separators, link prefixes, one layer of HTML entities) and
// applies lossless mappings (lower case, full-width forms, NFC, IDNA). It never
// guesses: what would need a guess is refused with a [Class].
//
//	raw cell -> clean -> decode -> unwrap -> split at the @ -> local part
//	                                                        -> domain
//	                                      -> Address -> Key (folded or not)
//
// An accepted address is a fixed point: normalizing it again returns it
// unchanged. Work is linear in the length of the input, and inputs longer than
// [MaxInput] are refused unread.
//
// An [Address] and a [Key] are personal data, so neither can print itself; the
// method Reveal is the only way to the text. A [Domain] names a company and
// prints.
package email
