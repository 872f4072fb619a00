/** Creates one object of the size of a delivery after the other. Argument: the servers as JSON. */
import { systemIds } from '@platen/adapters/system/ids.ts'
import { serve } from '../child.ts'
import { timed } from '../measure.ts'
import { openObjects, type Servers } from './logs.ts'

const { s3 } = JSON.parse(process.argv[2] ?? '') as Servers
const objects = await openObjects(s3)
const ids = systemIds()
/** An object of a delivery that was delivered at its first attempt. */
const BYTES = Buffer.alloc(1100, 'x')

serve((batch) =>
  timed(batch, async () => {
    const key = `bench/${Buffer.from(ids.random(16)).toString('hex')}`
    await objects.create({ bucket: 'platen', key }, BYTES, new AbortController().signal)
    return BYTES
  }),
)
