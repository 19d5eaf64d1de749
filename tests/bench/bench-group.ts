/** What a group of benchmarks hands back: Markdown to print, and to keep in docs/benchmarks.md. */
export interface BenchSection {
  readonly title: string
  /** What was measured, against which peer, and how to read the numbers. */
  readonly about: string
  readonly tables: readonly BenchTable[]
  /** Sentences that follow from the numbers of this run. */
  readonly findings: readonly string[]
}

export interface BenchTable {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export interface BenchOptions {
  /** How often each process is measured; medians are taken over these runs. */
  readonly runs: number
  /** Of groups that can do with fewer than usual, to see that they work. */
  readonly services?: number
  /** Tells a waiting person what is going on. */
  readonly progress: (message: string) => void
}

/** One folder, one group, one line in groups.ts. */
export interface BenchGroup {
  readonly name: string
  run(options: BenchOptions): Promise<readonly BenchSection[]>
}
