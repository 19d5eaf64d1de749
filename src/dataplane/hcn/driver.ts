/** What the system library does, call by call: texts in, texts out. Documents are made and read above it. */

export type ObjectKind = 'Network' | 'Endpoint' | 'LoadBalancer'

/** Rejects with an `HcnError`. A call that has been handed to the system cannot be taken back, so there is no signal. */
export interface HcnDriver extends AsyncDisposable {
  /** The old API, e.g. `GET /globals/version`. */
  hnsCall(method: string, path: string, body: string): Promise<string>
  /** A JSON array of GUIDs. */
  enumerate(kind: ObjectKind, query: string): Promise<string>
  /** Properties of one object, as JSON. */
  query(kind: ObjectKind, id: string, query: string): Promise<string>
  /** Properties of the new object. An endpoint needs its network. */
  create(kind: 'Endpoint' | 'LoadBalancer', settings: string, networkId?: string): Promise<string>
  /** Properties of the changed object. */
  modifyLoadBalancer(id: string, settings: string): Promise<string>
  remove(kind: 'Endpoint' | 'LoadBalancer', id: string): Promise<void>
}
