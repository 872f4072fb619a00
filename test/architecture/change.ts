/**
 * One change of each kind that CONTRIBUTING.md describes under "To add …". Every file that had to be written for it has one of these words,
 * and so has every file that was generated.
 */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  'an error code': ['HEADERS_TOO_LARGE'],
  'a PDF option': ['page_size', 'pageSize'],
  'a limit of a Plan': ['tenantAsyncRateLimitPerMinute'],
  'an artifact store': ['openS3ArtifactStore', 'S3_SETTINGS', 'startS3'],
}
