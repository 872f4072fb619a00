/** react-pdf alone: `renderToBuffer` in a process for each core, without a server before it. */
import { contend } from '../../bench/child.ts'
import { type Peer, SLOTS } from '../peer.ts'

export const reactPdf: Peer = {
  name: 'react-pdf',
  title: 'react-pdf 4.9 alone',
  start: () => contend('raw/react-pdf.ts', [], SLOTS),
}
