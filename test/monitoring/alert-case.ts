/** What is seen when an alert fires, and when it does not yet: series by the minute, in the notation of `promtool test rules`. */

export interface AlertCase {
  readonly alert: string
  /** The minute at which it is looked. */
  readonly at: number
  readonly fires: Series
  readonly quiet: Series
  /** Of the series that fire: the labels by which the alert tells them apart, and what it says. */
  readonly labels: Readonly<Record<string, string>>
  readonly says: string
}

type Series = Readonly<Record<string, string>>

const TENANT = 'namespace="pdf",tenant="acme",template="invoice",environment="live"'
const TARGET = 'namespace="pdf",job="platen",instance="10.1.0.7:9090"'
const DAY_S = 86_400

export const ALERT_CASES: readonly AlertCase[] = [
  {
    alert: 'PlatenRenderWaits',
    at: 5,
    // Two processes look at the queue, and one of them a moment later.
    fires: {
      'platen_queue_oldest_seconds{namespace="pdf",engine="html",lane="async",pod="a"}': '1000x9',
      'platen_queue_oldest_seconds{namespace="pdf",engine="html",lane="async",pod="b"}': '1020x9',
    },
    quiet: {
      'platen_queue_oldest_seconds{namespace="pdf",engine="html",lane="sync"}': '50x9',
      'platen_queue_oldest_seconds{namespace="pdf",engine="html",lane="async"}': '850x9',
      'platen_queue_oldest_seconds{namespace="pdf",engine="html",lane="bulk"}': '20000x9',
    },
    labels: { namespace: 'pdf', engine: 'html', lane: 'async' },
    says: 'The oldest render of html in the lane async has waited for 17m 0s.',
  },
  {
    alert: 'PlatenQueueGrows',
    at: 40,
    fires: { 'platen_queue_lag_renders{namespace="pdf",engine="html",lane="bulk"}': '0+50x60' },
    // Many, and fewer and fewer.
    quiet: { 'platen_queue_lag_renders{namespace="pdf",engine="html",lane="bulk"}': '9000-50x60' },
    labels: { namespace: 'pdf', engine: 'html', lane: 'bulk' },
    says: '2k renders of html wait in the lane bulk, and the number has been rising for 15 minutes.',
  },
  {
    alert: 'PlatenQueueUnwatched',
    at: 15,
    fires: { 'platen_build_info{namespace="pdf",deployable="api"}': '1x20' },
    quiet: {
      'platen_build_info{namespace="pdf",deployable="api"}': '1x20',
      'platen_queue_lag_renders{namespace="pdf",engine="html",lane="bulk"}': '0x20',
    },
    labels: { namespace: 'pdf' },
    says: '1 API processes are running, but no events process has reported the queue for 10 minutes.',
  },
  {
    alert: 'PlatenRequestsFail',
    at: 20,
    fires: {
      'platen_requests_refused_total{namespace="pdf",code="RENDER_UNAVAILABLE",fault="operator"}': '0+6x30',
      'platen_http_requests_total{namespace="pdf",route="/api/v1/render",status="5xx"}': '0+60x30',
    },
    // As many failures, by a tenant's template; and probes are no requests.
    quiet: {
      'platen_requests_refused_total{namespace="pdf",code="INTERNAL_ERROR",fault="tenant"}': '0+6x30',
      'platen_requests_refused_total{namespace="pdf",code="INTERNAL_ERROR",fault="operator"}': '0x30',
      'platen_http_requests_total{namespace="pdf",route="/api/v1/render",status="5xx"}': '0+60x30',
    },
    labels: { namespace: 'pdf' },
    says: '10% of requests fail because of the service.',
  },
  {
    alert: 'PlatenRendersFail',
    at: 10,
    fires: { 'platen_renders_ended_total{namespace="pdf",engine="html",lane="async",outcome="expired"}': '0x4 3x9' },
    quiet: {
      'platen_renders_ended_total{namespace="pdf",engine="html",lane="async",outcome="template_error"}': '0+9x9',
    },
    labels: { namespace: 'pdf', engine: 'html', outcome: 'expired' },
    says: '3 renders of html have ended as expired in 15 minutes.',
  },
  {
    alert: 'PlatenTemplateFails',
    at: 60,
    fires: {
      [`platen_tenant_renders_total{${TENANT},outcome="template_error"}`]: '0+3x90',
      [`platen_tenant_renders_total{${TENANT},outcome="succeeded"}`]: '0+1x90',
    },
    // Too few to tell, and too few of many.
    quiet: {
      [`platen_tenant_renders_total{${TENANT},outcome="template_error"}`]: '0+1x90',
      [`platen_tenant_renders_total{${TENANT},outcome="succeeded"}`]: '0+3x90',
      'platen_tenant_renders_total{tenant="b",template="t",environment="live",outcome="template_error"}': '0x50 5x40',
      'platen_tenant_renders_total{tenant="c",template="t",environment="test",outcome="template_error"}': '0+9x90',
    },
    labels: { namespace: 'pdf', tenant: 'acme', template: 'invoice' },
    says: '75% of the renders of invoice of the tenant acme fail because of the template.',
  },
  {
    alert: 'PlatenDeadLetters',
    at: 10,
    fires: {
      'platen_dead_letters_total{namespace="pdf",reason="crashed"}': '0x4 2x9',
      'platen_webhook_dead_letters_total{namespace="pdf",record="event"}': '5x9',
    },
    // Of yesterday.
    quiet: {
      'platen_dead_letters_total{namespace="pdf",reason="crashed"}': '2x20',
      'platen_webhook_dead_letters_total{namespace="pdf",record="event"}': '5x20',
    },
    labels: { namespace: 'pdf', reason: 'crashed' },
    says: '2 records have become dead letters in an hour: crashed.',
  },
  {
    alert: 'PlatenDeadLetters',
    at: 10,
    fires: { 'platen_webhook_dead_letters_total{namespace="pdf",record="event"}': '0x4 2x9' },
    quiet: { 'platen_webhook_dead_letters_total{namespace="pdf",record="event"}': '0x20' },
    labels: { namespace: 'pdf', reason: 'unreadable event' },
    says: '2 records have become dead letters in an hour: unreadable event.',
  },
  {
    alert: 'PlatenEngineRestarts',
    at: 20,
    fires: { 'platen_restarts_total{namespace="pdf",part="browser",reason="crashed"}': '0+1x30' },
    // As often, because they are worn or nobody waits any more; and now and then.
    quiet: {
      'platen_restarts_total{namespace="pdf",part="thread",reason="worn"}': '0+1x30',
      'platen_restarts_total{namespace="pdf",part="thread",reason="canceled"}': '0+1x30',
      'platen_restarts_total{namespace="pdf",part="browser",reason="crashed"}': '0x10 5x20',
    },
    labels: { namespace: 'pdf', part: 'browser', reason: 'crashed' },
    says: 'A browser was started again 15 times in 15 minutes: crashed.',
  },
  {
    alert: 'PlatenRendererMemory',
    at: 15,
    fires: {
      [`platen_memory_used_bytes{${TARGET}}`]: '95x20',
      [`platen_memory_limit_bytes{${TARGET}}`]: '100x20',
      [`platen_build_info{${TARGET},deployable="renderer"}`]: '1x20',
    },
    // As much, of another process.
    quiet: {
      [`platen_memory_used_bytes{${TARGET}}`]: '95x20',
      [`platen_memory_limit_bytes{${TARGET}}`]: '100x20',
      [`platen_build_info{${TARGET},deployable="api"}`]: '1x20',
    },
    labels: { namespace: 'pdf', job: 'platen', instance: '10.1.0.7:9090', deployable: 'renderer' },
    says: '10.1.0.7:9090 uses 95% of its memory limit.',
  },
  {
    alert: 'PlatenEventLoopHeld',
    at: 15,
    fires: {
      [`platen_event_loop_delay_max_seconds{${TARGET}}`]: '2.5x20',
      [`platen_build_info{${TARGET},deployable="api"}`]: '1x20',
    },
    quiet: {
      [`platen_event_loop_delay_max_seconds{${TARGET}}`]: '0.9x20',
      [`platen_build_info{${TARGET},deployable="api"}`]: '1x20',
    },
    labels: { namespace: 'pdf', job: 'platen', instance: '10.1.0.7:9090', deployable: 'api' },
    says: 'The event loop of 10.1.0.7:9090 (api) was blocked for 2.5s.',
  },
  {
    alert: 'PlatenWebhooksExhausted',
    at: 70,
    fires: {
      'platen_webhook_deliveries_ended_total{namespace="pdf",status="exhausted"}': '0+1x90',
      'platen_webhook_deliveries_ended_total{namespace="pdf",status="delivered"}': '0+3x90',
    },
    quiet: {
      'platen_webhook_deliveries_ended_total{namespace="pdf",status="exhausted"}': '0+1x90',
      'platen_webhook_deliveries_ended_total{namespace="pdf",status="delivered"}': '0+30x90',
    },
    labels: { namespace: 'pdf' },
    says: '25% of the deliveries of the last hour failed in all their attempts.',
  },
  {
    alert: 'PlatenWebhooksUnsigned',
    at: 25,
    fires: { 'platen_webhook_deferrals_total{namespace="pdf",reason="secret_unreadable"}': '0+2x30' },
    quiet: {
      'platen_webhook_deferrals_total{namespace="pdf",reason="secret_unreadable"}': '7x30',
      'platen_webhook_deferrals_total{namespace="pdf",reason="no_room"}': '0+9x30',
    },
    labels: { namespace: 'pdf' },
    says: '20 times in 10 minutes, a delivery was deferred because its secret cannot be read.',
  },
  {
    alert: 'PlatenWebhooksWait',
    at: 20,
    // Two processes read the same.
    fires: {
      'platen_webhook_backlog_deliveries{namespace="pdf",waits_for="call",pod="a"}': '1500x30',
      'platen_webhook_backlog_deliveries{namespace="pdf",waits_for="call",pod="b"}': '1500x30',
    },
    // A burst that passes, and retries that are not due.
    quiet: {
      'platen_webhook_backlog_deliveries{namespace="pdf",waits_for="call"}': '1500x9 200 1500x20',
      'platen_webhook_backlog_deliveries{namespace="pdf",waits_for="time"}': '9000x30',
      'platen_event_lag_events{namespace="pdf",reader="retention"}': '9000x30',
    },
    labels: { namespace: 'pdf' },
    says: 'At least 1.5k deliveries have been due and waiting for 15 minutes.',
  },
  {
    alert: 'PlatenProjectionBehind',
    at: 20,
    fires: { 'platen_event_lag_events{namespace="pdf",reader="projection"}': '800x30' },
    // Behind, and not all of the time.
    quiet: { 'platen_event_lag_events{namespace="pdf",reader="projection"}': '800x9 0 800x20' },
    labels: { namespace: 'pdf' },
    says: 'At least 800 events have been missing in Redis for 15 minutes.',
  },
  {
    alert: 'PlatenRetentionBehind',
    at: 3000,
    fires: {
      'platen_retention_complete_timestamp_seconds{namespace="pdf",kind="render",pod="a"}': '0x3010',
      'platen_retention_complete_timestamp_seconds{namespace="pdf",kind="render",pod="b"}': '600x3010',
    },
    // One of two processes does it.
    quiet: {
      'platen_retention_complete_timestamp_seconds{namespace="pdf",kind="render",pod="a"}': '0x3010',
      'platen_retention_complete_timestamp_seconds{namespace="pdf",kind="render",pod="b"}': '0+60x3010',
    },
    labels: { namespace: 'pdf', kind: 'render' },
    says: 'The last time that all of a kind that had expired was removed is 2d 1h 50m 0s ago: render.',
  },
  {
    alert: 'PlatenNoLeader',
    at: 5,
    fires: {
      'leader_election_master_status{namespace="pdf",name="platen-operator",pod="a"}': '0x9',
      'leader_election_master_status{namespace="pdf",name="platen-operator",pod="b"}': '0x9',
    },
    quiet: {
      'leader_election_master_status{namespace="pdf",name="platen-operator",pod="a"}': '0x9',
      'leader_election_master_status{namespace="pdf",name="platen-operator",pod="b"}': '1x9',
    },
    labels: { namespace: 'pdf' },
    says: '0 operators hold the Lease; it should be 1.',
  },
  {
    alert: 'PlatenNoLeader',
    at: 75,
    // All operators have gone.
    fires: { 'leader_election_master_status{namespace="pdf",name="platen-operator"}': '1x60 stale' },
    // There was never one.
    quiet: { 'platen_build_info{namespace="pdf",deployable="api"}': '1x90' },
    labels: { namespace: 'pdf' },
    says: '0 operators hold the Lease; it should be 1.',
  },
  {
    alert: 'PlatenReconcileFails',
    at: 30,
    fires: { 'controller_runtime_reconcile_errors_total{namespace="pdf",controller="tenant"}': '0+1x40' },
    quiet: { 'controller_runtime_reconcile_errors_total{namespace="pdf",controller="tenant"}': '0x10 2x30' },
    labels: { namespace: 'pdf', controller: 'tenant' },
    says: '10 reconciliations have failed in 10 minutes.',
  },
  {
    alert: 'PlatenSettingsNotFollowed',
    at: 10,
    fires: { [`platen_directory_age_seconds{${TARGET}}`]: '0+60x20' },
    quiet: { [`platen_directory_age_seconds{${TARGET}}`]: '55x20' },
    labels: { namespace: 'pdf', job: 'platen', instance: '10.1.0.7:9090' },
    says: '10.1.0.7:9090 last confirmed 10m 0s ago that its settings are the published ones.',
  },
  {
    alert: 'PlatenDependencyAway',
    at: 5,
    fires: {
      'platen_dependency_up{namespace="pdf",dependency="s3",pod="a"}': '0x9',
      'platen_dependency_up{namespace="pdf",dependency="s3",pod="b"}': '1x9',
    },
    // Away for a moment, and back; and more writes succeed than fail.
    quiet: {
      'platen_dependency_up{namespace="pdf",dependency="s3",pod="a"}': '1 0 0 1x9',
      [writes('error')]: '0+4x9',
      [writes('ok')]: '0+5x9',
    },
    labels: { namespace: 'pdf', dependency: 's3' },
    says: '1 processes have not reached s3, or could not write to it, for 2 minutes.',
  },
  {
    alert: 'PlatenDependencyAway',
    at: 10,
    fires: { [writes('error')]: '0+4x20', [writes('ok')]: '9x20' },
    // The only two fail.
    quiet: { [writes('error')]: '1x6 3x20', [writes('ok')]: '0x20' },
    labels: { namespace: 'pdf', dependency: 's3' },
    says: '1 processes have not reached s3, or could not write to it, for 2 minutes.',
  },
  {
    alert: 'PlatenDependencySlow',
    at: 30,
    fires: {
      'platen_dependency_call_duration_seconds_bucket{namespace="pdf",dependency="s3",le="1"}': '0+1x40',
      'platen_dependency_call_duration_seconds_bucket{namespace="pdf",dependency="s3",le="5"}': '0+20x40',
      'platen_dependency_call_duration_seconds_bucket{namespace="pdf",dependency="s3",le="+Inf"}': '0+20x40',
    },
    // A few of many; and browsers, which take longer to start.
    quiet: {
      'platen_dependency_call_duration_seconds_bucket{namespace="pdf",dependency="s3",le="1"}': '0+99x40',
      'platen_dependency_call_duration_seconds_bucket{namespace="pdf",dependency="s3",le="+Inf"}': '0+100x40',
      'platen_dependency_call_duration_seconds_bucket{namespace="pdf",dependency="chromium",le="1"}': '0x40',
      'platen_dependency_call_duration_seconds_bucket{namespace="pdf",dependency="chromium",le="5"}': '0+20x40',
      'platen_dependency_call_duration_seconds_bucket{namespace="pdf",dependency="chromium",le="+Inf"}': '0+20x40',
    },
    labels: { namespace: 'pdf', dependency: 's3' },
    says: 'One call of s3 in twenty takes 4.789s or longer.',
  },
  {
    alert: 'PlatenRedisLostData',
    at: 10,
    fires: { 'platen_projection_rebuilds_total{namespace="pdf"}': '0x4 12x9' },
    // Of yesterday; and somebody has changed a value.
    quiet: {
      'platen_projection_rebuilds_total{namespace="pdf"}': '12x20',
      'platen_operator_repairs_total{namespace="pdf",kind="keys"}': '0x4 1x9',
    },
    labels: { namespace: 'pdf' },
    says: 'In 15 minutes, 12 parts of what Redis held were lost and written again.',
  },
  {
    alert: 'PlatenRedisLostData',
    at: 10,
    fires: { 'platen_operator_repairs_total{namespace="pdf",kind="directory"}': '0x4 1x9' },
    quiet: { 'platen_operator_repairs_total{namespace="pdf",kind="directory"}': '1x20' },
    labels: { namespace: 'pdf' },
    says: 'In 15 minutes, 1 parts of what Redis held were lost and written again.',
  },
  {
    alert: 'PlatenClockWrong',
    at: 10,
    fires: { [`platen_time_seconds{${TARGET}}`]: '3600+60x20' },
    quiet: { [`platen_time_seconds{${TARGET}}`]: '50+60x20' },
    labels: { namespace: 'pdf', instance: '10.1.0.7:9090' },
    says: 'The clock of 10.1.0.7:9090 differs from that of Prometheus by 1h 0m 0s.',
  },
  {
    alert: 'PlatenLogLinesLost',
    at: 40,
    fires: { [`platen_log_lines_dropped_total{${TARGET}}`]: '0+10x60' },
    // Some at a restart of the reader, and then no more.
    quiet: { [`platen_log_lines_dropped_total{${TARGET}}`]: '0x10 500x50' },
    labels: { namespace: 'pdf', instance: '10.1.0.7:9090' },
    says: '10.1.0.7:9090 has lost 150 log lines in 15 minutes.',
  },
  {
    alert: 'PlatenDrainHangs',
    at: 80,
    fires: { [`platen_draining{${TARGET}}`]: '0x9 1x90' },
    // As long as a drain may take.
    quiet: { [`platen_draining{${TARGET}}`]: '0x20 1x90' },
    labels: { namespace: 'pdf', instance: '10.1.0.7:9090' },
    says: '10.1.0.7:9090 has been told to end for more than an hour, and has not.',
  },
  {
    alert: 'PlatenCertificateExpires',
    at: 0,
    fires: {
      'platen_certificate_expiry_timestamp_seconds{namespace="pdf",vouches_for="kafka",pod="a"}': `${3 * DAY_S}`,
      'platen_certificate_expiry_timestamp_seconds{namespace="pdf",vouches_for="kafka",pod="b"}': `${9 * DAY_S}`,
    },
    quiet: { 'platen_certificate_expiry_timestamp_seconds{namespace="pdf",vouches_for="kafka"}': `${15 * DAY_S}` },
    labels: { namespace: 'pdf', vouches_for: 'kafka' },
    says: 'A certificate of the CA file for kafka expires in 3d 0h 0m 0s.',
  },
  {
    alert: 'PlatenApiKeysExpire',
    at: 70,
    fires: { 'platen_api_keys_expiring{namespace="pdf",pod="a"}': '2x90' },
    quiet: { 'platen_api_keys_expiring{namespace="pdf",pod="a"}': '0x90' },
    labels: { namespace: 'pdf' },
    says: '2 ApiKeys expire within seven days.',
  },
]

function writes(result: 'error' | 'ok'): string {
  return `platen_dependency_calls_total{${TARGET},dependency="s3",operation="put",result="${result}"}`
}
