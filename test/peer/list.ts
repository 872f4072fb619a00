/** All contenders, in the order of the tables: those that use the service's browser, as shipped, and those without a browser. */
import { cluster } from './contender/cluster.ts'
import { gotenberg } from './contender/gotenberg.ts'
import { jsreport } from './contender/jsreport.ts'
import { platen } from './contender/platen.ts'
import { reactPdf } from './contender/react-pdf.ts'
import { weasyprint } from './contender/weasyprint.ts'
import type { Peer } from './peer.ts'

export const PEERS: readonly Peer[] = [
  platen('html'),
  gotenberg('shell'),
  jsreport('shell'),
  cluster('shell'),
  gotenberg('full'),
  jsreport('full'),
  cluster('full'),
  weasyprint,
  platen('react_pdf'),
  reactPdf,
]
