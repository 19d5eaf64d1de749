/** What a Service is, in a line, and what is wrong with it. */
import type { ServiceDetail } from '../../../src/observe/console/wire.ts'
import { count } from '../../parts/format.ts'

export function ServiceFacts({ detail: { row, notices } }: { readonly detail: ServiceDetail }) {
  return (
    <>
      {row !== undefined && (
        <p class="service-facts">
          <span class="badge">{row.type}</span>
          {[...row.clusterIPs, ...(row.external ?? [])].map((address) => (
            <code key={address}>{address}</code>
          ))}
          {row.policies?.map((policy) => (
            <span key={policy} class="badge">
              {policy}
            </span>
          ))}
          <span class="quiet">
            {row.endpoints.used} of {count(row.endpoints.total, 'endpoint')} in use
          </span>
        </p>
      )}
      {notices.length > 0 && (
        <ul class="notices" aria-label="Notices">
          {notices.map(({ severity, text }) => (
            <li key={text} data-severity={severity}>
              <strong>{severity}</strong> {text}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
