package email_test

import (
	"errors"
	"fmt"

	"github.com/enrichd/enrichd/email"
)

func ExampleNormalize() {
	a, err := email.Normalize("\"Doe, John\" <John.Doe@B\u00fccher.example>;")
	fmt.Println(a, err)
	fmt.Println(a.Reveal(), a.Registrable(), a.Repairs())

	_, err = email.Normalize("john@example.com or jane@example.net")
	var refused *email.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Class, refused.Offset)
	}
	fmt.Println(err)
	// Output:
	// [address] <nil>
	// john.doe@xn--bcher-kva.example xn--bcher-kva.example [unwrap_angle strip_separator lowercase idna]
	// multiple 20
	// email address: multiple at byte 20: there is more than one address
}

func ExampleNew() {
	n, err := email.New(email.Config{Fold: email.ProfileConsumer, SingleExtract: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, _ := n.Normalize("Please call j.doe+crm@gmail.com today")
	fmt.Println(a.Reveal(), a.Key().Reveal(), a.Free())
	// Output: j.doe+crm@gmail.com e1:consumer:jdoe@gmail.com true
}

func ExampleNormalizeDomain() {
	d, err := email.NormalizeDomain("https://www.example.co.uk/about")
	fmt.Println(d, err)
	// Output: example.co.uk <nil>
}
