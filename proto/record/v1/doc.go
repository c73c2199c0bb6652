// Package recordv1 is the stored form of a record, generated from record.proto.
// Programs of different age share it, so no field is renumbered.
package recordv1
