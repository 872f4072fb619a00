/** A crowd of async renders, sent from a process of its own: whoever measures another caller beside it does not wait for the sender. */
import { serve } from '../child.ts'
import { acceptances, CROWDING_LIVE } from '../service.ts'

const [url = '', engine = ''] = process.argv.slice(2)
const crowd = acceptances({ url: () => url }, { key: CROWDING_LIVE, engine })

serve((batch) => crowd.run(batch))
