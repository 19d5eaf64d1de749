/** For a shell: one Service at 10.96.0.10:80, with one endpoint at port 8080 of 192.0.2.10. */
export const writeObjects = `cat > /etc/fairlead/objects.yaml <<'END'
apiVersion: v1
kind: Service
metadata: { name: web, namespace: default }
spec:
  clusterIP: 10.96.0.10
  ports: [{ name: http, port: 80 }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, namespace: default, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: [{ name: http, port: 8080 }]
endpoints: [{ addresses: ['192.0.2.10'] }]
END`
