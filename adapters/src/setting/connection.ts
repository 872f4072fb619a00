/** Settings of the services that the data plane uses: Redis, S3 and Kafka. */
import type { RedisSettings } from '../redis/connect.ts'
import { KAFKA_SETTINGS, type KafkaSettings, readKafkaSettings } from './connection/kafka.ts'
import { REDIS_SETTINGS, readRedisSettings } from './connection/redis.ts'
import { readS3Settings, S3_SETTINGS, type S3Settings } from './connection/s3.ts'
import type { SettingReader, SettingTable } from './setting.ts'

/** The settings of every process of the data plane. */
export const CONNECTION_SETTINGS = {
  ...REDIS_SETTINGS,
  ...S3_SETTINGS,
  ...KAFKA_SETTINGS,
} as const satisfies SettingTable

export interface ConnectionSettings {
  readonly redis: RedisSettings
  readonly s3: S3Settings
  readonly kafka: KafkaSettings
}

/** Reads the locations of all three; undefined if a required setting is missing or wrong. */
export function readConnectionSettings(
  reader: SettingReader<keyof typeof CONNECTION_SETTINGS>,
): ConnectionSettings | undefined {
  const [redis, s3, kafka] = [readRedisSettings(reader), readS3Settings(reader), readKafkaSettings(reader)]
  return redis && s3 && kafka && { redis, s3, kafka }
}
