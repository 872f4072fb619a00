// Signs the vectors with Go's standard library, knowing nothing of our code; prints what it gets.
//
// usage: go run test/webhook/sign.go test/webhook/vector.json
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type vector struct {
	Name      string            `json:"name"`
	Secret    string            `json:"secret"`
	Previous  string            `json:"previous"`
	ID        string            `json:"id"`
	Timestamp json.Number       `json:"timestamp"`
	Body      []json.RawMessage `json:"body"`
}

type signed struct {
	Name             string `json:"name"`
	ServiceSignature string `json:"service_signature"`
	WebhookSignature string `json:"webhook_signature"`
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	var document struct{ Vectors []vector }
	check(json.Unmarshal(text, &document))
	result := []signed{}
	for _, v := range document.Vectors {
		result = append(result, sign(v))
	}
	check(json.NewEncoder(os.Stdout).Encode(result))
}

func sign(v vector) signed {
	body := bodyOf(v)
	secrets := []string{v.Secret}
	if v.Previous != "" {
		secrets = append(secrets, v.Previous)
	}
	service := hmacSha256(secrets[len(secrets)-1], v.Timestamp.String()+"."+body)
	standard := []string{}
	for _, secret := range secrets {
		digest := hmacSha256(secret, v.ID+"."+v.Timestamp.String()+"."+body)
		standard = append(standard, "v1,"+base64.StdEncoding.EncodeToString(digest))
	}
	return signed{v.Name, "sha256=" + hex.EncodeToString(service), strings.Join(standard, " ")}
}

func bodyOf(v vector) string {
	var body strings.Builder
	for _, raw := range v.Body {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			body.WriteString(text)
			continue
		}
		var piece struct {
			Repeat string `json:"repeat"`
			Times  int    `json:"times"`
		}
		check(json.Unmarshal(raw, &piece))
		body.WriteString(strings.Repeat(piece.Repeat, piece.Times))
	}
	return body.String()
}

func hmacSha256(secret, message string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(message))
	return mac.Sum(nil)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
