/** Migrates the schema to the version of this code. Files are numbered, never edited once released, and applied in one transaction. */
import { readdirSync, readFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

const FOLDER = new URL('migrations/', import.meta.url)

/** A newer version of the service wrote the database. This version might damage it. */
export class DatabaseTooNew extends Error {
  override readonly name = 'DatabaseTooNew'
}

/** Applies the missing migrations. Throws `DatabaseTooNew` and changes nothing when the schema is newer than the code. */
export function migrate(connection: DatabaseSync): void {
  const migrations = readdirSync(FOLDER).sort()
  connection.exec('BEGIN IMMEDIATE')
  try {
    const version = Number(connection.prepare('PRAGMA user_version').get()?.['user_version'])
    if (version > migrations.length) {
      throw new DatabaseTooNew(
        `the database has schema ${version}, this version of the service knows ${migrations.length}`,
      )
    }
    for (const file of migrations.slice(version)) connection.exec(readFileSync(new URL(file, FOLDER), 'utf8'))
    connection.exec(`PRAGMA user_version = ${migrations.length}`)
    connection.exec('COMMIT')
  } catch (cause) {
    if (connection.isTransaction) connection.exec('ROLLBACK')
    throw cause
  }
}
