/** Container images load documents in the same way when they are built, so that code which we change is compiled as changed. */
import { withCorrections } from '../layout/correction.ts'

export async function importDocument(): Promise<typeof import('../document.ts')> {
  return await withCorrections(() => import('../document.ts'))
}
