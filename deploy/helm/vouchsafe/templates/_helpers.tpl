{{/* Leaves room for "-metrics" in the 63 characters that the name of a service has. */}}
{{- define "vouchsafe.name" -}}
{{- printf "%s-%s" .Release.Name .Values.service | trunc 55 | trimSuffix "-" -}}
{{- end -}}

{{- define "vouchsafe.selector" -}}
app.kubernetes.io/name: vouchsafe
app.kubernetes.io/component: {{ .Values.service }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "vouchsafe.labels" -}}
{{ include "vouchsafe.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Is empty when the settings name no database. */}}
{{- define "vouchsafe.database" -}}
{{- range $name, $value := .Values.settings }}{{ if and $value (regexMatch "^VOUCHSAFE_DATABASE(__URL)?(_FILE)?$" $name) }}yes{{ end }}{{ end -}}
{{- end -}}

{{- define "vouchsafe.scheme" -}}
{{- $tls := .Values.tlsInFile -}}
{{- range $name, $value := .Values.settings }}{{ if and $value (hasPrefix "VOUCHSAFE_TLS" $name) }}{{ $tls = true }}{{ end }}{{ end -}}
{{- ternary "HTTPS" "HTTP" $tls -}}
{{- end -}}

{{/* What a pod of the service and one of a command have alike. */}}
{{- define "vouchsafe.pod" -}}
# Kubernetes would make VOUCHSAFE_... variables of the services in the namespace, which are not settings.
enableServiceLinks: false
automountServiceAccountToken: false
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "vouchsafe.env" -}}
- name: VOUCHSAFE_HOST
  value: "0.0.0.0"
- name: VOUCHSAFE_PORT
  value: {{ .Values.port | quote }}
- name: VOUCHSAFE_MANAGEMENT__HOST
  value: "0.0.0.0"
- name: VOUCHSAFE_MANAGEMENT__PORT
  value: {{ .Values.managementPort | quote }}
{{- if and .Values.trustAnchors (eq .Values.service "verifier") (not (hasKey .Values.settings "VOUCHSAFE_ISSUER_TRUST_ANCHORS")) }}
- name: VOUCHSAFE_ISSUER_TRUST_ANCHORS
  value: trust-anchors
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- define "vouchsafe.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: conf, mountPath: /srv/vouchsafe/conf, readOnly: true }
  - { name: data, mountPath: /srv/vouchsafe/data }
  - { name: tmp, mountPath: /tmp }
  {{- if .Values.trustAnchors }}
  - { name: trust-anchors, mountPath: /srv/vouchsafe/trust-anchors, readOnly: true }
  {{- end }}
{{- end -}}

{{- define "vouchsafe.volumes" -}}
volumes:
  - name: conf
    secret: { secretName: {{ .Values.secretName }}, defaultMode: 0440 }
  - name: tmp
    emptyDir: { sizeLimit: 256Mi }
  {{- with .Values.trustAnchors }}
  - name: trust-anchors
    {{- toYaml . | nindent 4 }}
  {{- end }}
  - name: data
    {{- if .Values.persistence.enabled }}
    persistentVolumeClaim: { claimName: {{ include "vouchsafe.name" . }} }
    {{- else }}
    emptyDir: {}
    {{- end }}
  {{- if .Values.job.args }}
  - name: backup
    persistentVolumeClaim: { claimName: {{ .Values.job.claimName }} }
  {{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
