/** What it costs to have Kafka, Redis and S3 between the parts instead of a function call. */
import { randomBytes } from 'node:crypto'
import { aPhoto } from '../../fixture/asset.ts'
import { template, tsx } from '../../fixture/manifests.ts'
import { type ClusterService, startClusterService } from '../../topology/cluster/service.ts'
import { type KafkaServer, startKafka } from '../../topology/server/kafka.ts'
import { contend } from '../child.ts'
import { type Figure, quantile, race } from '../measure.ts'
import { acceptances, publishMeasured, settingsFor, startMeasured, syncRenders } from '../service.ts'

const PICTURES = 9
const PICTURE_BYTES = 1_000_000

/** A cluster on a Kafka that is there, with the templates that are measured. */
export async function startMeasuredCluster(
  kafka: KafkaServer,
  slots: number,
  {
    apis = 1,
    renderers = 1,
    settings = {},
  }: Partial<{
    apis: number
    renderers: number
    settings: Record<string, string>
  }> = {},
): Promise<ClusterService> {
  const env = { ...settingsFor(slots), PLATEN_CHROMIUM: 'none', ...settings }
  const service = await startClusterService(env, { kafka, apis, renderers })
  await publishMeasured(service, album())
  return service
}

export async function* clusterSync(scale: number): AsyncGenerator<Figure> {
  await using kafka = await startKafka({ isMeasured: true })
  await using embedded = await startMeasured(1, { PLATEN_CHROMIUM: 'none' })
  await publishMeasured(embedded, album())
  await using service = await startMeasuredCluster(kafka, 1)
  for (const { name, count, request } of [
    { name: 'an invoice of 10 rows', count: 100, request: {} },
    { name: 'a PDF of 9 MB', count: 20, request: { template: 'album' } },
  ]) {
    const sides = [service, embedded].map((one) => syncRenders(one, 'react_pdf', request))
    const [over, inside] = await race(sides, {
      rows: 10,
      concurrency: 1,
      count: Math.ceil(count * scale),
      rounds: 5,
      warmUp: 2 * count,
    })
    const [slow = 0, quick = 0] = [over, inside].map((result) => quantile(result?.latenciesMs ?? [], 0.5))
    yield {
      name: `sync over Kafka, ${name}: p50 over the embedded one, ms`,
      detail: `${slow.toFixed(1)} − ${quick.toFixed(1)} ms, ${over?.sample.byteLength} bytes`,
      value: slow - quick,
      target: { atMost: 25 },
    }
  }
}

/** A template whose PDF has as many bytes as its pictures, which are put into it as they are. */
function album(): readonly object[] {
  const names = Array.from({ length: PICTURES }, (_, at) => `picture-${at}`)
  const configMaps = names.map((name) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'team-measured' },
    binaryData: { 'picture.jpg': paddedPhoto().toString('base64') },
  }))
  const assets = names.map((name) => ({ name: `${name}.jpg`, configMapKeyRef: { name, key: 'picture.jpg' } }))
  const source = `
    import { Document, Image, Page } from '@react-pdf/renderer'
    export default () => (
      <Document><Page>
        {${JSON.stringify(names)}.map((name) => <Image key={name} src={'asset:' + name + '.jpg'} style={{ width: 40 }} />)}
      </Page></Document>
    )`
  return [...configMaps, template('measured', 'album', { ...tsx(source), assets })]
}

/** A small photo with a lot said about it, in segments that readers pass over. */
function paddedPhoto(): Buffer {
  const photo = aPhoto()
  const parts: Buffer[] = []
  for (let left = PICTURE_BYTES; left > 0; left -= 65_537) {
    const comment = randomBytes(65_533)
    parts.push(Buffer.from([0xff, 0xfe, 0xff, 0xff]), comment)
  }
  return Buffer.concat([photo.subarray(0, 2), ...parts, photo.subarray(2)])
}

export async function* clusterAcceptance(scale: number): AsyncGenerator<Figure> {
  await using kafka = await startKafka({ isMeasured: true })
  await using service = await startMeasuredCluster(kafka, 1)
  // What renders would be in the way of what accepts; its queue is long enough.
  await service.without('renderer')
  await using raw = await contend('cluster/produce.ts', [service.broker])
  const [ours, bare] = await race([acceptances(service), raw], {
    rows: 10,
    concurrency: 64,
    count: Math.ceil(2000 * scale),
    rounds: 5,
  })
  const [mine, its] = [ours.documentsPerSecond, bare.documentsPerSecond]
  yield {
    name: 'async acceptance of one API process: × producing the same records by kafkajs',
    detail: `${mine.toFixed(0)}/s, ${its.toFixed(0)}/s`,
    value: mine / its,
    target: { atLeast: 0.7 },
  }
}
