/** Starts a Prometheus that scrapes pods of a node and evaluates the alerts of the chart. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../../architecture/source-tree.ts'
import { binaryOf } from '../../topology/server/binary.ts'
import { type ServerProcess, startServer } from '../../topology/server/process.ts'

const ALERTS = join(ROOT, 'charts/platen/file/alerts.yaml')

export interface Prometheus extends ServerProcess {
  firing(): Promise<ReadonlySet<string>>
}

/** Starts a Prometheus that scrapes these addresses (`host:port`) in the same way as the chart's PodMonitor. */
export async function startPrometheus(targets: readonly string[], namespace: string): Promise<Prometheus> {
  const server = await startServer({
    name: 'prometheus',
    async prepare({ folder }) {
      const config = {
        global: { scrape_interval: '5s', evaluation_interval: '5s' },
        rule_files: [ALERTS],
        scrape_configs: [{ job_name: 'platen', static_configs: [{ targets, labels: { namespace } }] }],
      }
      // JSON is YAML.
      await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config))
    },
    command: ({ folder, port }) => ({
      path: binaryOf('prometheus'),
      args: [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
    }),
    isReady: async ({ port }, signal) => (await fetch(`http://127.0.0.1:${port}/-/ready`, { signal })).ok,
  })
  return {
    ...server,
    async firing() {
      const answer = await fetch(`http://127.0.0.1:${server.port}/api/v1/alerts`)
      const { data } = (await answer.json()) as {
        readonly data: {
          readonly alerts: readonly { readonly state: string; readonly labels: { readonly alertname: string } }[]
        }
      }
      return new Set(data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname))
    },
  }
}
