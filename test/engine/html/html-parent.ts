/** A service process for the tests to kill: opens an engine on the folder given, renders once, says so and waits. */
import { anEngine, aWork } from './html-fixture.ts'

const [, , profileDir] = process.argv
if (profileDir === undefined) throw new Error('usage: html-parent.ts <folder>')
const { render } = await anEngine({ profileDir })
await render(aWork('<p>x'))
process.stdout.write('rendered\n')
