import type { Backend } from '../../core/backend.ts'

/** The backend with all it can do, except for what is done in another way. */
export function overBackend(backend: Backend, otherwise: Partial<Backend>): Backend {
  return {
    name: backend.name,
    sync: backend.sync.bind(backend),
    ...(backend.watch && { watch: backend.watch.bind(backend) }),
    ...(backend.stepAside && { stepAside: backend.stepAside.bind(backend) }),
    ...(backend.reclaim && { reclaim: backend.reclaim.bind(backend) }),
    ...(backend.traffic && { traffic: backend.traffic.bind(backend) }),
    ...(backend.trafficEveryMs !== undefined && { trafficEveryMs: backend.trafficEveryMs }),
    ...(backend.pieces && { pieces: backend.pieces.bind(backend) }),
    ...(backend.compare && { compare: backend.compare.bind(backend) }),
    ...(backend.inspect && { inspect: backend.inspect.bind(backend) }),
    ...(backend.rendered && { rendered: backend.rendered.bind(backend) }),
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
    ...otherwise,
  }
}
