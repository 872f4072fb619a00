/** The commands of the README's section on Kubernetes, as its readers would type them. */
import assert from 'node:assert/strict'
import { readText } from '../../architecture/source-tree.ts'

const [, install = '', forward = '', commands = ''] =
  /^## On Kubernetes\n[^]*?^```sh\n(helm install .*)\n(kubectl .*port-forward[^#]*?) *#.*\n([^]*?)^```$/m.exec(
    readText('README.md'),
  ) ?? []

/** What brings the service onto a cluster. */
export const INSTALL = install
/** What leads to its API, for as long as it runs. */
export const FORWARD = forward
/** From an empty Kubernetes to a tenant that renders, is limited, suspended, given another key, and deleted. */
export const COMMANDS = commands
/** What they say they are answered, in turn. */
export const STATUSES: readonly string[] = Array.from(COMMANDS.matchAll(/ # (\d{3})\b/g), ([, status = '']) => status)

assert.deepEqual(STATUSES, ['200', '200', '202', '429', '402', '200', '200', '401'])

const [, guide = ''] = /^## Take away\n[^]*?^```sh\n([^]*?)^```$/m.exec(readText('docs/operations.md')) ?? []

/** What removes Platen from Kubernetes, without a chart and without the controllers that empty a namespace. */
export const TAKE_AWAY = guide
  .replace(/^helm uninstall .*# without the chart: (.*)$/m, '$1')
  .replace(/^kubectl delete namespace platen$/m, '$& --wait=false')

assert.match(TAKE_AWAY, /^kubectl delete -f rbac$/m)
assert.match(TAKE_AWAY, /--wait=false$/m)
