// Says what deployment tools make of Kubernetes objects, by the libraries that these tools use: kstatus as in Flux and in Helm 4, and the
// Lua interpreter of Argo CD with a health script.
//
// Reads a JSON array of objects from stdin. The argument is the script. Prints a JSON array with one verdict for each object.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type opinion struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type verdict struct {
	Kstatus opinion `json:"kstatus"`
	// Absent for an object that is being deleted: Argo CD does not ask the script then.
	ArgoCD *opinion `json:"argoCd,omitempty"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: health <script> < objects.json")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(script string, in io.Reader, out io.Writer) error {
	var texts []json.RawMessage
	if err := json.NewDecoder(in).Decode(&texts); err != nil {
		return err
	}
	verdicts := make([]verdict, len(texts))
	for at, text := range texts {
		judged, err := judge(text, script)
		if err != nil {
			return fmt.Errorf("object %d: %w", at, err)
		}
		verdicts[at] = judged
	}
	return json.NewEncoder(out).Encode(verdicts)
}

func judge(text []byte, script string) (verdict, error) {
	var object unstructured.Unstructured
	// It reads whole numbers as int64, as the clients of Kubernetes do.
	if err := object.UnmarshalJSON(text); err != nil {
		return verdict{}, err
	}
	result, err := status.Compute(&object)
	if err != nil {
		return verdict{}, err
	}
	judged := verdict{Kstatus: opinion{result.Status.String(), result.Message}}
	if object.GetDeletionTimestamp() == nil {
		judged.ArgoCD, err = runScript(object.Object, script)
	}
	return judged, err
}

// Runs the script with the libraries that Argo CD opens by default: those for packages, tables and the basics.
func runScript(object map[string]any, script string) (*opinion, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		open := lua.P{Fn: state.NewFunction(library.open), Protect: true}
		if err := state.CallByParam(open, lua.LString(library.name)); err != nil {
			return nil, err
		}
	}
	state.SetGlobal("obj", toLua(state, object))
	if err := state.DoString(script); err != nil {
		return nil, err
	}
	table, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return nil, fmt.Errorf("the script returned %s and no table", state.Get(-1).Type())
	}
	return &opinion{lua.LVAsString(table.RawGetString("status")), lua.LVAsString(table.RawGetString("message"))}, nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		table := state.NewTable()
		for _, item := range value {
			table.Append(toLua(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range value {
			table.RawSetString(key, toLua(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}
