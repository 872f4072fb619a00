/** Tests which connections count as broken, with S3 as the example: Redis, Kafka and the Kubernetes API count them by the same rule. */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { HeadBucketCommand } from '@aws-sdk/client-s3'
import { connectS3 } from '@platen/adapters/s3/connect.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { expect, test } from 'vitest'
import { rejectionOf } from '../fixture/build.ts'
import { aCertificate } from '../topology/host.ts'
import { listening } from '../topology/server/port.ts'

const CERTIFICATE = aCertificate({ addresses: ['127.0.0.1'] })
const CREDENTIALS = { accessKeyId: 'a', secretAccessKey: 'b' }

const tls = (options: TlsOptions = {}) => createTlsServer({ ...CERTIFICATE, ...options })
const plain = (onHello: (socket: Socket) => void) =>
  createServer((socket) => socket.on('error', () => undefined).once('data', () => onHello(socket)))
const STRICT = { ca: CERTIFICATE.cert, requestCert: true }

test.for<readonly [string, () => Server, { trusts?: string; isCounted: boolean }]>([
  ['is reset during the handshake', () => plain((socket) => socket.resetAndDestroy()), { isCounted: true }],
  ['is closed during the handshake', () => plain((socket) => socket.end()), { isCounted: true }],
  [
    'is answered without TLS',
    () => plain((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    { isCounted: true },
  ],
  ['is refused for want of a client certificate', () => tls(STRICT), { isCounted: true }],
  ['is refused so by TLS 1.2', () => tls({ ...STRICT, maxVersion: 'TLSv1.2' }), { isCounted: true }],
  [
    'this process does not trust',
    () => tls(),
    { trusts: aCertificate({ addresses: ['127.0.0.1'] }).cert, isCounted: false },
  ],
])('a connection that %s', async ([, serve, { trusts = CERTIFICATE.cert, isCounted }], { signal }) => {
  await using server = await listening(serve())
  let broken = 0
  using connection = connectS3(
    {
      endpoint: `https://127.0.0.1:${server.port}`,
      region: 'us-east-1',
      isPathStyle: true,
      credentials: CREDENTIALS,
      tls: { ca: trusts },
      onBrokenConnection: () => broken++,
    },
    systemClock(),
  )
  const { call, client } = connection
  await rejectionOf(call((how) => client.send(new HeadBucketCommand({ Bucket: 'platen' }), how), signal))
  expect(broken > 0).toBe(isCounted)
})
