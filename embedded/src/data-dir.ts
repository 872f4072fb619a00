/** A separate file, because `main.ts` loads it before the compile cache. */
export const DATA_DIR_DEFAULT = './data'
