/** What the dashboards show: few panels, each of which tells whoever looks what to do next. docs/runbook.md names them by their titles. */

export interface Panel {
  readonly title: string
  readonly description: string
  /** Of Grafana: https://github.com/grafana/grafana/blob/main/packages/grafana-data/src/valueFormats/categories.ts lists them. */
  readonly unit: 'reqps' | 'percentunit' | 's' | 'short' | 'cps' | 'dateTimeFromNow'
  /** By their legends. */
  readonly queries: Readonly<Record<string, string>>
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly description: string
  /** What narrows it, beside the namespace: labels of one metric. */
  readonly variables: { readonly metric: string; readonly labels: readonly string[] }
  readonly panels: readonly Panel[]
}

const IN = 'namespace=~"$namespace"'
const RATE = '[$__rate_interval]'
const quantile = (of: string, metric: string, by = '') =>
  `histogram_quantile(${of}, sum by (le${by}) (rate(${metric}_bucket{${IN}}${RATE})))`

const CALLERS: readonly Panel[] = [
  {
    title: 'Requests',
    description: 'Answers of the API by status class, without probes. 5xx includes failing templates.',
    unit: 'reqps',
    queries: { '{{status}}': `sum by (status) (rate(platen_http_requests_total{${IN},route=~"/api/.+"}${RATE}))` },
  },
  {
    title: 'Requests that fail by the service',
    description:
      'Share of requests that are answered 500 or 503 because of the service, not because of callers or templates.',
    unit: 'percentunit',
    queries: {
      'of all': `sum(rate(platen_requests_refused_total{${IN},fault="operator"}${RATE})) / sum(rate(platen_http_requests_total{${IN},route=~"/api/.+"}${RATE}))`,
    },
  },
  {
    title: 'Refusals by code',
    description: 'Requests that were refused. docs/errors.md says what each code means and who can fix it.',
    unit: 'reqps',
    queries: {
      '{{code}} ({{fault}})': `sum by (code, fault) (rate(platen_requests_refused_total{${IN}}${RATE})) > 0 or sum by (code, fault) (rate(platen_requests_refused_total{${IN},code="RENDER_UNAVAILABLE"}${RATE}))`,
    },
  },
  {
    title: 'Wait of sync callers',
    description: 'From queueing to the answer. After ten seconds without a renderer the answer is 503.',
    unit: 's',
    queries: Object.fromEntries(
      ['0.5', '0.95', '0.99'].map((of) => [`quantile ${of}`, quantile(of, 'platen_sync_wait_seconds')]),
    ),
  },
]

const QUEUE: readonly Panel[] = [
  {
    title: 'Oldest render',
    description:
      'Age of the oldest unfinished render since it was accepted. If no render ends, it rises by a second each second.',
    unit: 's',
    queries: { '{{engine}} {{lane}}': `max by (engine, lane) (platen_queue_oldest_seconds{${IN}})` },
  },
  {
    title: 'Renders that wait',
    description: 'Accepted and unfinished, by engine and lane. Renderers are scaled by it.',
    unit: 'short',
    queries: { '{{engine}} {{lane}}': `max by (engine, lane) (platen_queue_lag_renders{${IN}})` },
  },
  {
    title: 'Saturation of slots',
    description:
      'How full the renderers are for a lane. At 100 %, the next render of the lane waits until another one ends.',
    unit: 'percentunit',
    queries: { '{{engine}} {{lane}}': `avg by (engine, lane) (platen_slots_saturation_ratio{${IN}})` },
  },
  {
    title: 'Renders ended by outcome',
    description:
      '`internal` and `expired` are faults of the service; the others are faults of templates, data or callers.',
    unit: 'cps',
    queries: { '{{outcome}}': `sum by (outcome) (rate(platen_renders_ended_total{${IN}}${RATE}))` },
  },
  {
    title: 'Warnings by code',
    description: 'Renders whose document has a warning. docs/errors.md says what each code means.',
    unit: 'cps',
    queries: { '{{code}}': `sum by (code) (rate(platen_render_warnings_total{${IN}}${RATE}))` },
  },
  {
    title: 'Time of a render',
    description: '95th percentile of the duration of the last attempt, without waiting.',
    unit: 's',
    queries: { '{{engine}}': quantile('0.95', 'platen_render_duration_seconds', ', engine') },
  },
  {
    title: 'Restarts',
    description:
      'Browsers and render threads by the reason of their restart, and processes. `worn` and `canceled` are normal.',
    unit: 'cps',
    queries: {
      '{{part}} {{reason}}': `sum by (part, reason) (rate(platen_restarts_total{${IN}}${RATE}))`,
      '{{deployable}} process': `sum by (deployable) (changes(process_start_time_seconds{${IN}}${RATE}) * on (namespace, job, instance) group_left (deployable) platen_build_info{${IN}}) / 300`,
    },
  },
  {
    title: 'Processes that drain',
    description: 'Processes that have been told to end, and what they still have to do.',
    unit: 'short',
    queries: {
      '{{deployable}}': `sum by (deployable) (platen_draining{${IN}} * on (namespace, job, instance) group_left (deployable) platen_build_info{${IN}})`,
      'renders of them': `sum((platen_slots_busy{${IN}} + platen_renders_storing{${IN}}) and on (namespace, job, instance) platen_draining{${IN}} == 1) or vector(0)`,
    },
  },
  {
    title: 'Memory of renderers',
    description:
      'Share of its memory limit that a container uses, including browsers, without memory that the kernel can free. At 100 % it is killed.',
    unit: 'percentunit',
    queries: {
      '{{instance}}': `platen_memory_used_bytes{${IN}} / platen_memory_limit_bytes{${IN}} * on (namespace, job, instance) group_left (deployable) platen_build_info{${IN},deployable="renderer"}`,
    },
  },
  {
    title: 'Event loop blocked',
    description: 'Longest time in the last minutes during which a process answered nobody.',
    unit: 's',
    queries: {
      '{{deployable}} {{instance}}': `platen_event_loop_delay_max_seconds{${IN}} * on (namespace, job, instance) group_left (deployable) platen_build_info{${IN}}`,
    },
  },
]

const AFTERWARDS: readonly Panel[] = [
  {
    title: 'Webhook calls by result',
    description: '`ok`: the receiver accepted the delivery. All others are retried by the schedule.',
    unit: 'cps',
    queries: { '{{result}}': `sum by (result) (rate(platen_webhook_attempts_total{${IN}}${RATE}))` },
  },
  {
    title: 'Deliveries failed or deferred',
    description: 'Ended without success, or deferred for lack of a secret or of room.',
    unit: 'cps',
    queries: {
      '{{status}}': `sum by (status) (rate(platen_webhook_deliveries_ended_total{${IN},status=~"exhausted|gone|blocked"}${RATE}))`,
      'deferred: {{reason}}': `sum by (reason) (rate(platen_webhook_deferrals_total{${IN}}${RATE}))`,
    },
  },
  {
    title: 'Webhooks that wait',
    description:
      'Deliveries that wait for a free call or for the time of their next attempt, and events whose deliveries are not scheduled.',
    unit: 'short',
    queries: {
      'for a {{waits_for}}': `max by (waits_for) (platen_webhook_backlog_deliveries{${IN}})`,
      'to be scheduled': `max(platen_event_lag_events{${IN},reader="webhooks"})`,
    },
  },
  {
    title: 'Events not in Redis yet',
    description:
      'Until they are in Redis, quotas are checked without the latest charges. After a loss, all are read again.',
    unit: 'short',
    queries: {
      events: `max(platen_event_lag_events{${IN},reader="projection"})`,
      'lost and read again': `sum(increase(platen_projection_rebuilds_total{${IN}}[1h]))`,
    },
  },
  {
    title: 'Removal of expired data',
    description: 'Time since all that had expired was removed, by kind, and what could not be removed.',
    unit: 's',
    queries: {
      '{{kind}}': `time() - max by (kind) (platen_retention_complete_timestamp_seconds{${IN}})`,
      'failed: {{kind}}': `sum by (kind) (increase(platen_retention_removals_total{${IN},result="failed"}[1h]))`,
    },
  },
  {
    title: 'Dead letters',
    description:
      'Records that nobody can process, by reason. They are kept with the reason in `render.dead` and `webhook.dead`.',
    unit: 'short',
    queries: {
      '{{reason}}': `sum by (reason) (increase(platen_dead_letters_total{${IN}}[1h]))`,
      'webhook {{record}}': `sum by (record) (increase(platen_webhook_dead_letters_total{${IN}}[1h]))`,
    },
  },
]

const DEPENDENCIES: readonly Panel[] = [
  {
    title: 'Dependencies',
    description: 'Share of the processes that reach a dependency, of those that use it.',
    unit: 'percentunit',
    queries: { '{{dependency}}': `avg by (dependency) (platen_dependency_up{${IN}})` },
  },
  {
    title: 'Calls of dependencies that fail',
    description: 'Errors and timeouts, after all retries.',
    unit: 'cps',
    queries: {
      '{{dependency}} {{operation}}': `sum by (dependency, operation) (rate(platen_dependency_calls_total{${IN},result=~"error|timeout"}${RATE}))`,
    },
  },
  {
    title: 'Connections that break',
    description:
      'Connections that a dependency or the network broke or did not accept. Calls are repeated, so callers may notice nothing.',
    unit: 'cps',
    queries: {
      '{{dependency}}': `sum by (dependency) (rate(platen_dependency_connections_broken_total{${IN}}${RATE}))`,
    },
  },
  {
    title: 'Time of calls of dependencies',
    description: '95th percentile, with all retries.',
    unit: 's',
    queries: {
      '{{dependency}} {{operation}}': quantile(
        '0.95',
        'platen_dependency_call_duration_seconds',
        ', dependency, operation',
      ),
    },
  },
]

const SETTINGS: readonly Panel[] = [
  {
    title: 'Operators that lead',
    description: 'Should be 1. At 0, declared changes do not take effect.',
    unit: 'short',
    queries: { '{{namespace}}': `sum by (namespace) (leader_election_master_status{${IN}})` },
  },
  {
    title: 'Age of settings',
    description: 'Time since each API process last confirmed that its settings are the published ones.',
    unit: 's',
    queries: { '{{instance}}': `platen_directory_age_seconds{${IN}}` },
  },
  {
    title: 'Reconciles that fail',
    description: 'By controller; and repairs of what somebody else had changed.',
    unit: 'cps',
    queries: {
      '{{controller}}': `sum by (controller) (rate(controller_runtime_reconcile_errors_total{${IN}}${RATE}))`,
      'repaired: {{kind}}': `sum by (kind) (rate(platen_operator_repairs_total{${IN}}${RATE}))`,
    },
  },
  {
    title: 'Last publish',
    description: 'Time since the operator that leads last published a change.',
    unit: 's',
    queries: { age: `time() - max(platen_operator_last_publish_timestamp_seconds{${IN}})` },
  },
  {
    title: 'Clocks',
    description: 'How far the clock of a process is from that of Prometheus.',
    unit: 's',
    queries: { '{{instance}}': `abs(platen_time_seconds{${IN}} - timestamp(platen_time_seconds{${IN}}))` },
  },
  {
    title: 'Lost log lines',
    description: 'Lines that the reader of the log did not take in time.',
    unit: 'cps',
    queries: { '{{instance}}': `rate(platen_log_lines_dropped_total{${IN}}${RATE})` },
  },
  {
    title: 'Resources that wait',
    description: 'Keys waiting for a worker of the operator; should fall to 0.',
    unit: 'short',
    queries: { '{{name}}': `sum by (name) (workqueue_depth{${IN}})` },
  },
  {
    title: 'What expires',
    description: 'Time until the certificates of CA files expire, and ApiKeys that expire within a week.',
    unit: 'short',
    queries: {
      'days of the CA file for {{vouches_for}}': `(min by (vouches_for) (platen_certificate_expiry_timestamp_seconds{${IN}}) - time()) / 86400`,
      ApiKeys: `max(platen_api_keys_expiring{${IN}})`,
    },
  },
]

const OF_TENANT = `${IN},tenant=~"$tenant",template=~"$template"`
const RENDERS = 'platen_tenant_renders_total'
const LIVE = `${OF_TENANT},environment="live"`
const BY_TEMPLATE = 'template_error|render_timeout|render_crashed|page_limit|asset_unavailable'

const TENANTS: readonly Panel[] = [
  {
    title: 'Renders by tenant',
    description: 'Live renders that ended, with any outcome.',
    unit: 'cps',
    queries: { '{{tenant}}': `sum by (tenant) (rate(${RENDERS}{${LIVE}}${RATE}))` },
  },
  {
    title: 'Share that fails by template',
    description: 'Share of the live renders of a template that fail because of its source, its data or its files.',
    unit: 'percentunit',
    queries: {
      '{{tenant}} {{template}}': `sum by (tenant, template) (rate(${RENDERS}{${LIVE},outcome=~"${BY_TEMPLATE}"}${RATE})) / sum by (tenant, template) (rate(${RENDERS}{${LIVE}}${RATE}))`,
    },
  },
  {
    title: 'Failures by outcome',
    description: 'Live renders that did not succeed. docs/errors.md says what each outcome means.',
    unit: 'cps',
    queries: { '{{outcome}}': `sum by (outcome) (rate(${RENDERS}{${LIVE},outcome!="succeeded"}${RATE}))` },
  },
  {
    title: 'Templates that are used most',
    description: 'The ten templates with the most live renders in the selected time range.',
    unit: 'short',
    queries: {
      '{{tenant}} {{template}}': `topk(10, sum by (tenant, template) (increase(${RENDERS}{${LIVE}}[$__range])))`,
    },
  },
  {
    title: 'Live and sandbox',
    description: 'Renders by the environment of their API key.',
    unit: 'cps',
    queries: { '{{environment}}': `sum by (environment) (rate(${RENDERS}{${OF_TENANT}}${RATE}))` },
  },
]

export const DASHBOARDS: Readonly<Record<string, Dashboard>> = {
  platform: {
    uid: 'platen-platform',
    title: 'Platen: platform',
    description: 'What callers notice, what waits, and the state of the processes. docs/runbook.md says what to do.',
    variables: { metric: 'platen_build_info', labels: [] },
    panels: [...CALLERS, ...QUEUE, ...AFTERWARDS, ...DEPENDENCIES, ...SETTINGS],
  },
  tenants: {
    uid: 'platen-tenants',
    title: 'Platen: tenants',
    description: 'Who renders what, and whose templates fail. It has the tenants that PLATEN_TENANT_METRICS names.',
    variables: { metric: RENDERS, labels: ['tenant', 'template'] },
    panels: TENANTS,
  },
}
