/** Where the data folder is, unless `PLATEN_DATA_DIR` says otherwise. In a file of its own: `main.ts` loads it before the compile cache. */
export const DATA_DIR_DEFAULT = './data'
