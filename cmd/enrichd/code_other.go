//go:build !linux

package main

// releaseCode has no counterpart here.
func releaseCode() {}
