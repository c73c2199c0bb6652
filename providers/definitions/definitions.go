// Package definitions holds the vendors that the program knows by itself, one
// file each, with recorded exchanges beside it as its tests.
package definitions

import "embed"

// Files holds NAME.yaml and NAME.exchanges.json of every vendor.
//
//go:embed *.yaml *.exchanges.json
var Files embed.FS

// Names lists the definitions; a test makes sure that it names every file.
var Names = []string{
	"peopledatalabs",
	"hunter",
	"lusha",
	"leadmagic",
	"prospeo",
	"apollo",
	"clearbit",
	"fullcontact",
	"dropcontact",
	"rocketreach",
	"zerobounce",
	"neverbounce",
	"fullenrich",
	"datagma",
	"enrow",
	"coresignal",
	"crunchbase",
	"builtwith",
	"snov",
	"cognism",
	"contactout",
	"findymail",
	"icypeas",
}
