/** All contenders, in the order of the tables: those that use the service's browser, as shipped, and those without a browser. */
import { cluster } from './contender/cluster.ts'
import { gotenberg } from './contender/gotenberg.ts'
import { jsreport } from './contender/jsreport.ts'
import { platen } from './contender/platen.ts'
import { python } from './contender/python.ts'
import { reactPdf } from './contender/react-pdf.ts'
import type { Peer } from './peer.ts'

export const PEERS: readonly Peer[] = [
  platen('html'),
  gotenberg('shell'),
  jsreport('shell'),
  cluster('shell'),
  gotenberg('full'),
  jsreport('full'),
  cluster('full'),
  python('weasyprint', 'WeasyPrint 70'),
  python('plutoprint', 'PlutoBook (plutoprint 0.23)'),
  python('pyfulgur', 'fulgur (pyfulgur 0.40)'),
  platen('react_pdf'),
  reactPdf,
]
