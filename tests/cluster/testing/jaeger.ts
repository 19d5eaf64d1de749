/** A real Jaeger in a network namespace, asked through its query API. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Namespace } from '../../packet/testing/namespace.ts'
import { NodeProcess } from '../../packet/testing/node-process.ts'
import { buildProgram } from './programs.ts'

export const collectorPorts = { http: 4318, grpc: 4317 } as const

export interface JaegerSpan {
  readonly traceID: string
  readonly spanID: string
  readonly operationName: string
  readonly references: readonly {
    readonly refType: 'CHILD_OF' | 'FOLLOWS_FROM'
    readonly traceID: string
    readonly spanID: string
  }[]
  /** Microseconds. */
  readonly startTime: number
  readonly duration: number
  readonly tags: readonly { readonly key: string; readonly value: unknown }[]
  readonly processID: string
}

export interface JaegerTrace {
  readonly traceID: string
  readonly spans: readonly JaegerSpan[]
  readonly processes: Readonly<
    Record<string, { readonly serviceName: string; readonly tags: readonly { key: string; value: unknown }[] }>
  >
}

export class Jaeger implements AsyncDisposable {
  readonly #namespace: Namespace
  readonly #process: NodeProcess

  private constructor(namespace: Namespace, process: NodeProcess) {
    this.#namespace = namespace
    this.#process = process
  }

  static async start(namespace: Namespace): Promise<Jaeger> {
    const listeners = {
      'query.http-server': 16686,
      'query.grpc-server': 16685,
      'collector.otlp.http': collectorPorts.http,
      'collector.otlp.grpc': collectorPorts.grpc,
      'collector.http-server': 14268,
      'collector.grpc-server': 14250,
      'admin.http': 14269,
    }
    const flags = Object.entries(listeners).map(([name, port]) => `--${name}.host-port=0.0.0.0:${port}`)
    const process = new NodeProcess(namespace, await buildProgram('jaeger'), [...flags, '--log-level=error'])
    const jaeger = new Jaeger(namespace, process)
    for (let tries = 0; ; tries++) {
      try {
        jaeger.#get('/api/services')
        return jaeger
      } catch (error) {
        if (!process.isRunning || tries > 300)
          throw new Error(`Jaeger does not start: ${process.output}`, { cause: error })
        await sleep(100)
      }
    }
  }

  traces(service: string): readonly JaegerTrace[] {
    const { data } = JSON.parse(this.#get(`/api/traces?service=${service}&limit=5000&lookback=1h`)) as {
      readonly data: readonly JaegerTrace[]
    }
    return data
  }

  #get(path: string): string {
    return this.#namespace.run('curl', ['-sS', '--fail', `http://127.0.0.1:16686${path}`])
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process[Symbol.asyncDispose]()
  }
}

export function tag({ tags }: Pick<JaegerSpan, 'tags'>, key: string): unknown {
  return tags.find((tag) => tag.key === key)?.value
}

/** The span that this one is part of. */
export function parentOf({ references }: JaegerSpan): string | undefined {
  return references.find(({ refType }) => refType === 'CHILD_OF')?.spanID
}

/** Traces of what caused it. */
export function linksOf({ references }: JaegerSpan): readonly string[] {
  return references.filter(({ refType }) => refType === 'FOLLOWS_FROM').map(({ traceID }) => traceID)
}

/** Each name below a span once, in order of first start, with what is below it: the shape of the tree. */
export function shapeBelow(trace: JaegerTrace, roots: readonly JaegerSpan[], indent = ''): readonly string[] {
  const names = [...new Set(roots.toSorted((a, b) => a.startTime - b.startTime).map((span) => span.operationName))]
  return names.flatMap((name) => {
    const ids = new Set(roots.filter((span) => span.operationName === name).map((span) => span.spanID))
    const children = trace.spans.filter((span) => ids.has(parentOf(span) ?? ''))
    return [`${indent}${name}`, ...shapeBelow(trace, children, `${indent}  `)]
  })
}
