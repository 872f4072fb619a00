/** Loads what makes documents. Images load it in the same way when they are built: code that we change is compiled as it was changed. */
import { withCorrections } from '../layout/correction.ts'

/** Imports `document.ts` with our corrections of react-pdf. */
export async function importDocument(): Promise<typeof import('../document.ts')> {
  return await withCorrections(() => import('../document.ts'))
}
