/** Only its owner can open the data folder, because its files show what tenants have rendered, and single files are not protected. */
import { chmod, mkdir, stat } from 'node:fs/promises'
import { isErrno } from '@platen/adapters/fs/durable-folder.ts'
import type { Log } from '@platen/lib/log.ts'

const OTHERS = 0o077
/** Mode bit of shared folders such as /tmp, which must stay open for other users. */
const STICKY = 0o1000

/** Creates a missing folder, and closes one that others can open. Logs that it did so, or could not. */
export async function openDataFolder(folder: string, log: Log): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const found = await modeOf(folder)
  if ((found & OTHERS) === 0) return
  if ((found & STICKY) === 0) await chmod(folder, found & ~OTHERS).catch(ignoringNotOurs)
  const mode = await modeOf(folder)
  const fields = { folder, mode: mode.toString(8), before: found.toString(8) }
  if ((mode & OTHERS) === 0) log.warn(fields, 'data folder permissions tightened')
  else log.warn(fields, 'data folder open to others, set its mode to 0700')
}

async function modeOf(folder: string): Promise<number> {
  return (await stat(folder)).mode & 0o7777
}

/** Volumes of a cluster belong to root and are open to a group. Some file systems have no modes. */
function ignoringNotOurs(cause: unknown): void {
  if (!isErrno(cause, 'EPERM', 'EACCES', 'ENOTSUP', 'EROFS')) throw cause
}
