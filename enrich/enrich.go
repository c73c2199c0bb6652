// Package enrich holds the words of the product and its one story,
// [Service.Enrich]: a request names a subject, the caches recall facts about
// it, the router asks providers for what is missing, and the answer says for
// every wanted attribute where its value comes from or why there is none.
//
// A [Record] is a set of facts, known absences included. Everything else is an
// operation on facts: negative caching, cost, provenance, partial answers and
// asking the next provider only for the rest.
package enrich
