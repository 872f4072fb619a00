/** An engine as the service opens it, and a small document of another tenant: whatever hostile work leaves behind shows in it. */
import { rmSync } from 'node:fs'
import { httpEgress } from '@platen/adapters/http/egress.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import { openEngines } from '@platen/renderer/engine/open-engines.ts'
import { temporaryFolder } from '../../engine/html/html-fixture.ts'
import { NEVER, SILENT } from '../../fixture/build.ts'
import { aRenderWork } from '../../fixture/render/work.ts'

/** What the document says. */
export const HONEST_TEXT = 'Zażółć 5.5'

const HONEST = {
  react_pdf: {
    reactPdf: `import { Document, Page, Text, View } from '@react-pdf/renderer'
export default ({ data }) => <Document><Page><View style={{ padding: 5 }}><Text>{data.name} {(5.5).toLocaleString()}</Text></View></Page></Document>`,
  },
  html: { html: { template: '<h1 style="font-family: serif">{{ name }} {{ 5.5 | number }}</h1>', javascript: false } },
} as const

export type Opened = Awaited<ReturnType<typeof openBesideHonest>>

/** Opens one engine with one slot, in a folder of its own, and renders the document for the first time. */
export async function openBesideHonest(name: Engine) {
  const profileDir = temporaryFolder()
  const clock = systemClock()
  const ports = { clock, log: SILENT, egress: httpEgress({ clock, allowCidrs: [] }) }
  const engines = await openEngines({ ...ports, slots: 1, profileDir, chromium: undefined })
  const engine = name === 'html' ? await engines.openHtml?.() : engines.openReactPdf()
  if (engine === undefined) throw new Error('hostile html needs Chromium')
  const work = aRenderWork({ tenant: 'honest', template: HONEST[name], data: { name: 'Zażółć' } })
  const first = (await engine.render(work, NEVER)).pdf
  return {
    engines,
    engine,
    profileDir,
    /** The document as it came out before anything hostile. */
    first,
    /** Renders it again. Is it the same, byte for byte? */
    isSame: async () => Buffer.from(first).equals((await engine.render(work, NEVER)).pdf),
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]()
      await engines[Symbol.asyncDispose]()
      rmSync(profileDir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
