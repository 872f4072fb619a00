/**
 * Objects in S3, and presigned URLs. An object is in the bucket of its address. Its S3 key is the prefix of the installation and the key of
 * its address, with a shard before the id.
 *
 * Because of `If-None-Match: *`, exactly one `create` succeeds. Some stores accept that header and ignore it, so the store opens only if it
 * is respected. Objects are written in one request: an object appears whole or not at all. S3 compares each with the digest that the
 * request is signed with.
 */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandInput,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  type PutObjectCommandInput,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { contentDisposition } from '@platen/contract/domain/file-name.ts'
import { PDF_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import { type ArtifactAddress, isArtifactAddress, pdfDigestIn } from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { type BackOff, backOffMs } from '@platen/lib/back-off.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { connectS3, nameOf, type S3Connection, type S3Options, statusOf } from './connect.ts'
import { claimPrefix } from './installation.ts'
import type { S3Namespace } from './namespace.ts'
import { plainKey, shardedKey } from './shard.ts'

export interface S3ArtifactStoreOptions extends S3Options {
  readonly namespace: S3Namespace
  readonly clock: Pick<Clock, 'now' | 'sleep' | 'timeout'>
  readonly ids: Ids
}

/** Retries when S3 reports that somebody else is creating the same object: their number, and the waits before them. */
const CONFLICTS_MAX = 5
const CONFLICT_BACK_OFF: BackOff = { msMin: 50, msMax: 800 }

const SECOND_MS = 1000
/** The longest lifetime that S3 allows for a URL. */
const GRANT_SECONDS_MAX = 7 * 24 * 3600

/** Throws `ArtifactStoreUnfit` if S3 can be reached but does not fit, and `Unavailable` if it cannot be reached. */
export async function openS3ArtifactStore(
  options: S3ArtifactStoreOptions,
  signal: AbortSignal,
): Promise<ArtifactStore & Disposable> {
  const connection = connectS3(options, options.clock)
  try {
    const objects = objectsOf(connection, options)
    await claimPrefix(objects, options.namespace, signal)
    return storeOf(objects, connection, options)
  } catch (cause) {
    connection[Symbol.dispose]()
    throw cause
  }
}

/** Access by complete S3 keys, which need not be keys of artifacts. */
type Objects = Pick<ArtifactStore, 'create' | 'get'>

function storeOf(
  objects: Objects,
  connection: S3Connection,
  { clock, namespace }: S3ArtifactStoreOptions,
): ArtifactStore & Disposable {
  const { client, publicClient, call } = connection
  const storedAddress = (address: ArtifactAddress): ArtifactAddress => {
    assert(isArtifactAddress(address), 'not an artifact address')
    return { bucket: address.bucket, key: namespace.prefix + shardedKey(address.key) }
  }
  return {
    async put(address, bytes, signal) {
      const input = { ...inputOf(storedAddress(address)), Body: bytes }
      await call((how) => client.send(putting(input, pdfDigestIn(address.key)), how), signal)
    },
    create: async (address, bytes, signal) => objects.create(storedAddress(address), bytes, signal),
    get: async (address, signal) => objects.get(storedAddress(address), signal),
    async getPart(address, { start, end }, signal) {
      const command = { ...inputOf(storedAddress(address)), Range: `bytes=${start}-${end}` }
      try {
        return await read(connection, command, signal)
      } catch (error) {
        if (statusBehind(error) === 416) return new Uint8Array()
        throw error
      }
    },
    async has(address, signal) {
      const command = new HeadObjectCommand(inputOf(storedAddress(address)))
      return (await orUndefined(call((how) => client.send(command, how), signal))) !== undefined
    },
    async delete(address, signal) {
      const command = new DeleteObjectCommand(inputOf(storedAddress(address)))
      await orUndefined(call((how) => client.send(command, how), signal))
    },
    ...listsOf(connection, { namespace, storedAddress }),
    async presign(address, { expiresAt, filename }, signal) {
      signal.throwIfAborted()
      const command = new GetObjectCommand({
        ...inputOf(storedAddress(address)),
        ResponseContentDisposition: contentDisposition(filename),
        ResponseContentType: 'application/pdf',
        ResponseCacheControl: 'private, no-store',
      })
      // S3 counts whole seconds from the time of signing. That time is set back, so that the URL does not expire late.
      const expiresIn = Math.max(1, Math.ceil((expiresAt - clock.now()) / SECOND_MS))
      assert(expiresIn <= GRANT_SECONDS_MAX, 'a URL lasts a week at most')
      const signingDate = new Date(expiresAt - expiresIn * SECOND_MS)
      return getSignedUrl(publicClient, command, { expiresIn, signingDate })
    },
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  }
}

/** Signs with the digest; without one, the SDK reads the whole body again to compute it. */
function putting(input: PutObjectCommandInput, sha256: string | undefined): PutObjectCommand {
  const command = new PutObjectCommand(input)
  if (sha256 === undefined) return command
  command.middlewareStack.add(
    (next) => (args) => {
      // The SDK makes the headers before this step, for every protocol.
      const { headers } = args.request as { readonly headers: Record<string, string> }
      headers['x-amz-content-sha256'] = sha256
      return next(args)
    },
    { step: 'build' },
  )
  return command
}

function objectsOf(connection: S3Connection, { clock, ids }: S3ArtifactStoreOptions): Objects {
  const { client, call } = connection
  return {
    async create(place, bytes, signal) {
      const writer = Buffer.from(ids.random(16)).toString('hex')
      const input = { ...inputOf(place), Body: bytes, IfNoneMatch: '*', Metadata: { writer } }
      for (let tries = 1; ; tries++) {
        try {
          await call((how) => client.send(new PutObjectCommand(input), how), signal)
          return true
        } catch (error) {
          if (statusBehind(error) === 412) return await isOurs(place, writer, signal)
          if (statusBehind(error) !== 409 || tries > CONFLICTS_MAX) throw error
          await clock.sleep(backOffMs(tries, CONFLICT_BACK_OFF), signal)
        }
      }
    },
    get: (place, signal) => read(connection, inputOf(place), signal),
  }

  /**
   * Did we create the existing object? The SDK repeats a write whose response was lost, and the second attempt then finds the object of the
   * first.
   */
  async function isOurs(place: ArtifactAddress, writer: string, signal: AbortSignal): Promise<boolean> {
    const head = await orUndefined(call((how) => client.send(new HeadObjectCommand(inputOf(place)), how), signal))
    return head?.Metadata?.['writer'] === writer
  }
}

interface Places extends Pick<S3ArtifactStoreOptions, 'namespace'> {
  readonly storedAddress: (address: ArtifactAddress) => ArtifactAddress
}

function listsOf(
  connection: S3Connection,
  { namespace, storedAddress }: Places,
): Pick<ArtifactStore, 'list' | 'listFolders'> {
  /** A prefix is safe to list if it becomes a valid address with a name appended. */
  const storedPrefix = (bucket: string, prefix: string) =>
    storedAddress({ bucket, key: `${prefix}name` }).key.slice(0, -'name'.length)
  return {
    async *list(bucket, prefix, signal) {
      const where = { Bucket: bucket, Prefix: storedPrefix(bucket, prefix) }
      for await (const page of pagesBelow(connection, where, signal)) {
        for (const { Key: found = '' } of page.Contents ?? []) {
          const plain = plainKey(found.slice(namespace.prefix.length))
          // The folder of a shard may contain the name of a tenant's folder.
          if (plain?.startsWith(prefix) && isArtifactAddress({ bucket, key: plain })) yield { bucket, key: plain }
        }
      }
    },
    async *listFolders(bucket, prefix, signal) {
      const where = { Bucket: bucket, Prefix: storedPrefix(bucket, prefix), Delimiter: '/' }
      for await (const page of pagesBelow(connection, where, signal)) {
        for (const { Prefix: folder = '' } of page.CommonPrefixes ?? []) yield folder.slice(where.Prefix.length, -1)
      }
    },
  }
}

/** A thousand entries at a time; nothing if the bucket is missing. */
async function* pagesBelow(
  { client, call }: S3Connection,
  where: Pick<ListObjectsV2CommandInput, 'Bucket' | 'Prefix' | 'Delimiter'>,
  signal: AbortSignal,
): AsyncGenerator<ListObjectsV2CommandOutput> {
  let ContinuationToken: string | undefined
  do {
    const command = new ListObjectsV2Command({ ...where, ...(ContinuationToken && { ContinuationToken }) })
    const page = await orUndefined(call((how) => client.send(command, how), signal))
    if (page !== undefined) yield page
    ContinuationToken = page?.IsTruncated ? page.NextContinuationToken : undefined
  } while (ContinuationToken !== undefined)
}

function read(
  { client, call }: S3Connection,
  input: GetObjectCommandInput,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  return orUndefined(
    call(async (how) => {
      const { Body } = await client.send(new GetObjectCommand(input), how)
      // In Node the body is a Node stream; the type also covers browsers.
      assert(Body instanceof Readable)
      return readAll(Body)
    }, signal),
  )
}

/** Reads at most `PDF_BYTES_MAX`: the store is not ours, and could send any number of bytes. */
async function readAll(body: Readable): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop closes the connection.
  for await (const chunk of body) {
    assert(chunk instanceof Uint8Array)
    bytes += chunk.length
    if (bytes > PDF_BYTES_MAX) throw new RangeError(`the object is larger than any artifact: ${PDF_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes)
}

/**
 * Error names of S3 for a missing object; `NotFound` for responses without a body. The status is not enough: some stores answer 404 to
 * unknown credentials, and an unreadable manifest must not look like one that was never written.
 */
const ABSENT = ['NoSuchKey', 'NoSuchBucket', 'NotFound']

/** A missing bucket has no objects either; writing to it is refused. */
async function orUndefined<T>(asking: Promise<T>): Promise<T | undefined> {
  try {
    return await asking
  } catch (error) {
    if (error instanceof Unavailable && ABSENT.includes(nameOf(error.cause) ?? '')) return undefined
    throw error
  }
}

function statusBehind(error: unknown): number | undefined {
  return error instanceof Unavailable ? statusOf(error.cause) : undefined
}

function inputOf({ bucket, key }: ArtifactAddress): { Bucket: string; Key: string } {
  return { Bucket: bucket, Key: key }
}
