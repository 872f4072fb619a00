// Prints the sample of a template by the client that oapi-codegen made, and shows how a refusal is read.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"platen.dev/openapi/api"
)

func main() {
	url, key, file := os.Args[1], os.Args[2], os.Args[3]
	ctx := context.Background()
	client, err := api.NewClientWithResponses(url, api.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+key)
			return nil
		}))
	check(err)

	template, err := client.GetTemplateWithResponse(ctx, "invoice")
	check(err)
	if template.JSON200 == nil || template.JSON200.Sample == nil {
		log.Fatalf("there is no sample: %s", template.Body)
	}

	var margin api.RenderOptions_Margin
	check(margin.FromLength(length("18mm")))
	a5 := api.RenderOptions_PageSize{}
	check(a5.FromPageSizeName(api.A5))
	request := api.RenderRequest{
		Template: template.JSON200.Code,
		Data:     *template.JSON200.Sample,
		Options:  &api.RenderOptions{PageSize: &a5, Margin: &margin},
	}
	printed, err := client.CreateRenderWithResponse(ctx, nil, request)
	check(err)
	if printed.StatusCode() != http.StatusOK {
		log.Fatalf("it was not printed: %s", printed.Body)
	}
	check(os.WriteFile(file, printed.Body, 0o600))

	request.Template = "nothing"
	refused, err := client.CreateRenderWithResponse(ctx, nil, request)
	check(err)
	fmt.Println(refused.JSON404.Error.Code)
}

func length(text string) (length api.Length) {
	check(length.FromLength1(text))
	return length
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
