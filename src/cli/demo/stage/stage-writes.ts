/** Every change of the stage is a write to the API server, as kubectl or a controller would do it. */
import type { KubeClient, KubeRequest } from '../../../sources/kube/kube-client.ts'
import { KubeError } from '../../../sources/kube/kube-error.ts'
import { sliceObject, stoppedAnnotation } from '../sample-application.ts'
import type { SampleService } from '../sample-application.ts'
import { scaleAnnotation, servicesPath, slicesPath } from './stage-objects.ts'

export interface Conditions {
  readonly ready: boolean
  readonly serving: boolean
  readonly terminating: boolean
}

export const isReadyAgain: Conditions = { ready: true, serving: true, terminating: false }
export const hasFailedItsProbe: Conditions = { ready: false, serving: false, terminating: false }
export const isDraining: Conditions = { ready: false, serving: true, terminating: true }

export class StageWrites {
  readonly #client: KubeClient
  readonly #note: (object: unknown) => void

  constructor(client: KubeClient, note: (object: unknown) => void) {
    this.#client = client
    this.#note = note
  }

  setStopped(replica: string, isStopped: boolean, signal: AbortSignal): Promise<void> {
    return this.#annotate(`${slicesPath}/${replica}`, stoppedAnnotation, String(isStopped), signal)
  }

  /** With its port, which may have changed. */
  setConditions(replica: string, conditions: Conditions, port: number, signal: AbortSignal): Promise<void> {
    const body = [
      // Somebody may have taken them away.
      { op: 'add', path: '/endpoints/0/conditions', value: conditions },
      { op: 'replace', path: '/ports/0/port', value: port },
    ]
    return this.#patch(`${slicesPath}/${replica}`, 'application/json-patch+json', body, signal)
  }

  addReplica(service: SampleService, replica: string, port: number, signal: AbortSignal): Promise<void> {
    const { path, object } = sliceObject(service, replica, port)
    return this.#send({ method: 'POST', path, body: object }, signal)
  }

  async removeReplica(replica: string, signal: AbortSignal): Promise<void> {
    await this.#request({ method: 'DELETE', path: `${slicesPath}/${replica}` }, signal)
  }

  /** Null: the order is carried out. */
  orderScale(service: string, replicas: number | null, signal: AbortSignal): Promise<void> {
    const value = replicas === null ? null : String(replicas)
    return this.#annotate(`${servicesPath}/${service}`, scaleAnnotation, value, signal)
  }

  setAffinity(service: string, hasAffinity: boolean, signal: AbortSignal): Promise<void> {
    const sessionAffinity = hasAffinity ? 'ClientIP' : 'None'
    // Without an affinity, the API server wants no configuration of one either.
    const spec = hasAffinity ? { sessionAffinity } : { sessionAffinity, sessionAffinityConfig: null }
    return this.#patch(`${servicesPath}/${service}`, mergePatch, { spec }, signal)
  }

  #annotate(path: string, name: string, value: string | null, signal: AbortSignal): Promise<void> {
    return this.#patch(path, mergePatch, { metadata: { annotations: { [name]: value } } }, signal)
  }

  #patch(path: string, contentType: string, body: unknown, signal: AbortSignal): Promise<void> {
    return this.#send({ method: 'PATCH', path, contentType, body }, signal)
  }

  async #send(request: KubeRequest, signal: AbortSignal): Promise<void> {
    this.#note(await this.#request(request, signal))
  }

  /** A connection that was kept from before an outage fails when it is used; then there is a new one. */
  async #request(request: KubeRequest, signal: AbortSignal): Promise<unknown> {
    try {
      return await this.#client.request(request, signal)
    } catch (error) {
      if (!(error instanceof KubeError && error.reason === 'unreachable')) throw error
      return this.#client.request(request, signal)
    }
  }
}

const mergePatch = 'application/merge-patch+json'
