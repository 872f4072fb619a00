import { KAFKA_SETTINGS } from './connection/kafka.ts'
import { REDIS_SETTINGS } from './connection/redis.ts'
import { S3_SETTINGS } from './connection/s3.ts'
import type { ValuesOf } from './setting.ts'

export const ARTIFACT_STORE_SETTINGS = { s3: S3_SETTINGS }

export const CONNECTION_SETTINGS = { redis: REDIS_SETTINGS, ...ARTIFACT_STORE_SETTINGS, kafka: KAFKA_SETTINGS }

export type ConnectionConfig = ValuesOf<typeof CONNECTION_SETTINGS>
