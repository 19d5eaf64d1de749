/** Every endpoint of a port: where it is, how it does, what it gets, or why it gets nothing. */
import { useSignal } from '@preact/signals'
import type { EndpointDetail, PortDetail } from '../../../src/observe/console/wire.ts'
import { percent, rate, shortNumber, wholeNumber } from '../../parts/format.ts'
import { MarkIcon } from '../../parts/picture/mark.tsx'

/** More take long to draw, and nobody reads them. */
const usuallyShown = 100

export function EndpointsTable({ port }: { readonly port: PortDetail }) {
  const isAll = useSignal(false)
  const { endpoints, skew } = port
  const shown = isAll.value ? endpoints : endpoints.slice(0, usuallyShown)
  return (
    <section class="card" aria-labelledby="endpoints-of">
      <h2 id="endpoints-of">
        Endpoints <small class="quiet">{wholeNumber(endpoints.length)}</small>
      </h2>
      {skew !== undefined && <p class="quiet small">{skewWords(skew)}</p>}
      {endpoints.length === 0 ? (
        <p>There are none. Compare the selector of the Service with the labels of its pods.</p>
      ) : (
        <table class="as-cards">
          <thead>
            <tr>
              <th scope="col">Address</th>
              <th scope="col">State</th>
              <th scope="col">Node</th>
              <th scope="col">Zone</th>
              <th scope="col" class="num">
                Share
              </th>
              <th scope="col" class="num">
                New
              </th>
              <th scope="col" class="num">
                Open
              </th>
              <th scope="col" class="num">
                Failed
              </th>
              <th scope="col">Why not</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((endpoint) => (
              <Row key={endpoint.address} endpoint={endpoint} />
            ))}
          </tbody>
        </table>
      )}
      {shown.length < endpoints.length && (
        <button type="button" class="button" onClick={() => (isAll.value = true)}>
          Show all {wholeNumber(endpoints.length)}
        </button>
      )}
    </section>
  )
}

function Row({ endpoint }: { readonly endpoint: EndpointDetail }) {
  const { address, state, node, zone, isLocal, share, traffic, whyNot } = endpoint
  return (
    <tr data-faint={whyNot !== undefined || undefined}>
      <th scope="row">
        <code>{address}</code>
      </th>
      <td data-label="State">
        <MarkIcon mark={state} />
        {state}
      </td>
      <td data-label="Node" class="breaks">
        {node ?? dash}
        {isLocal === true && <span class="badge">this node</span>}
      </td>
      <td data-label="Zone" class="breaks">
        {zone ?? dash}
      </td>
      <td data-label="Share" class="num">
        {share === undefined ? dash : <Share share={share} />}
      </td>
      <td data-label="New" class="num">
        {known(traffic?.connectionRate, rate)}
      </td>
      <td data-label="Open" class="num">
        {known(traffic?.open, wholeNumber)}
      </td>
      <td data-label="Failed" class="num">
        {known(traffic?.failures, shortNumber)}
      </td>
      <td data-label="Why not">{whyNot ?? dash}</td>
    </tr>
  )
}

function Share({ share }: { readonly share: number }) {
  return (
    <>
      <span class="share-bar" aria-hidden="true">
        <i style={{ width: `${Math.min(100, share * 100)}%` }} />
      </span>
      {percent(share)}
    </>
  )
}

const dash = <span class="quiet dash">–</span>

function known(value: number | undefined, show: (value: number) => string) {
  return value === undefined ? dash : show(value)
}

function skewWords(skew: number): string {
  if (skew < 1.15) return 'Open connections are spread evenly.'
  return `The busiest endpoint has ${shortNumber(skew)} times an even share of the open connections.`
}
