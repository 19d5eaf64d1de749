/** What main.ts asks of inside.ts: one cluster, one proxy, one run of the suite. */
export interface Task {
  readonly proxy: string
  readonly nodeCount: number
  /** OCI archives, imported on every node. */
  readonly images: readonly string[]
  readonly cgroup: string
  /** For logs and reports; outside the cluster, so it stays. */
  readonly resultFolder: string
  /** Without it, the cluster is there until somebody ends it. */
  readonly suite?: SuiteOptions
}

export interface SuiteOptions {
  /** Regular expressions over the whole name of a test. */
  readonly focus: readonly string[]
  readonly skip: readonly string[]
  /** Tests at the same time. */
  readonly processes: number
  readonly timeoutMinutes: number
}

export function renderTask(task: Task): string {
  return JSON.stringify(task)
}

export function parseTask(text: string): Task {
  return JSON.parse(text) as Task
}
