/** Renders samples on a cluster that has just started, so that its engines are warm for the next caller. */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import { parseAllDocuments } from 'yaml'

export interface SampleOptions {
  readonly urls: readonly string[]
  readonly engines: readonly Engine[]
  readonly manifestsDir: string
  /** Folder of the generated keys, each named `<namespace>.live-key`. */
  readonly keysDir: string
}

interface Sample {
  readonly key: string
  readonly template: string
  readonly data: unknown
}

const TRY_EVERY_MS = 250
/** A machine that needs longer is too busy for a cluster. */
const TRIES_MS_MAX = 300_000

/**
 * Renders the sample data of one template with each engine through each API process, until every call returns a PDF. Resolves at once when
 * no template has sample data and a generated key. Throws with the last answer after five minutes.
 */
export async function renderSample({ urls, engines, manifestsDir, keysDir }: SampleOptions): Promise<void> {
  const sample = await findSample(manifestsDir, keysDir)
  if (sample === undefined) return
  const signal = AbortSignal.timeout(TRIES_MS_MAX)
  await Promise.all(urls.flatMap((url) => engines.map((engine) => untilRendered(url, { ...sample, engine }, signal))))
}

async function findSample(manifestsDir: string, keysDir: string): Promise<Sample | undefined> {
  const files = (await readdir(manifestsDir)).filter((name) => /\.ya?ml$/.test(name))
  for (const file of files) {
    for (const document of parseAllDocuments(await readFile(join(manifestsDir, file), 'utf8'))) {
      if (document.get('kind') !== 'Template' || !document.hasIn(['spec', 'sampleData'])) continue
      const keyFile = join(keysDir, `${String(document.getIn(['metadata', 'namespace']))}.live-key`)
      if (!existsSync(keyFile)) continue
      const { metadata, spec } = document.toJS()
      const key = (await readFile(keyFile, 'utf8')).trim()
      return { key, template: spec.code ?? metadata.name, data: spec.sampleData }
    }
  }
  return undefined
}

async function untilRendered(
  url: string,
  { key, ...body }: Sample & { readonly engine: Engine },
  signal: AbortSignal,
): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  let last = ''
  for (;;) {
    const answer = await fetch(`${url}/api/v1/render`, { method: 'POST', headers, body: JSON.stringify(body), signal })
    // A render that the plan or the template does not allow is not a fault of the cluster.
    if (answer.ok || (answer.status >= 400 && answer.status < 500 && answer.status !== 429)) return
    last = await answer.text()
    await sleep(TRY_EVERY_MS, undefined, { signal }).catch((cause: unknown) => {
      throw new Error(`${url} does not render by ${body.engine}: ${last}`, { cause })
    })
  }
}
