{{- define "vouchsafe.name" -}}
{{- printf "%s-%s" .Release.Name .Values.service | trunc 63 | trimSuffix "-" -}}
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
