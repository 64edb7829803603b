-- Comercios con facturas vencidas, lo que deben y desde cuándo. La suspensión automática mira esta misma consulta.

SELECT
    c.id,
    c.razon_social,
    count(*) AS vencidas,
    sum(f.total_centimos - f.cobrado_centimos) / 100.0 AS deuda,
    min(f.vence_el) AS desde,
    current_date - min(f.vence_el) AS dias
FROM facturas f
JOIN comercios c ON c.id = f.comercio_id
WHERE f.emitida
  AND f.cobrado_centimos < f.total_centimos
  AND f.vence_el < current_date
GROUP BY c.id, c.razon_social
HAVING sum(f.total_centimos - f.cobrado_centimos) > 5000
ORDER BY dias DESC, deuda DESC;

-- A los 15 días se manda un recordatorio; a los 45, se suspende.
UPDATE comercios
SET suspendido = true
WHERE id IN (
    SELECT comercio_id
    FROM facturas
    WHERE emitida AND cobrado_centimos < total_centimos AND vence_el < current_date - 45
)
AND NOT suspendido
AND NOT exento_de_suspension;
