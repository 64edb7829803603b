-- Ocupación media de cada armario por día de la semana, para decidir dónde hacen falta más huecos.

WITH dias AS (
    SELECT generate_series(current_date - 28, current_date - 1, interval '1 day')::date AS dia
),
ocupados AS (
    SELECT h.armario_id, d.dia, count(*) FILTER (WHERE r.id IS NOT NULL) AS ocupados, count(*) AS huecos
    FROM dias d
    CROSS JOIN huecos h
    LEFT JOIN reservas r
        ON r.hueco_id = h.id
        AND r.depositado_en < d.dia + interval '11 hours'
        AND coalesce(r.recogido_en, 'infinity') > d.dia + interval '11 hours'
    WHERE h.estado <> 'fuera_de_servicio'
    GROUP BY h.armario_id, d.dia
)
SELECT
    a.codigo,
    a.municipio,
    extract(isodow FROM o.dia) AS dia_semana,
    round(100.0 * sum(o.ocupados) / sum(o.huecos), 1) AS ocupacion,
    count(*) FILTER (WHERE o.ocupados = o.huecos) AS dias_lleno
FROM ocupados o
JOIN armarios a ON a.id = o.armario_id
GROUP BY a.codigo, a.municipio, extract(isodow FROM o.dia)
HAVING sum(o.ocupados) > 0
ORDER BY ocupacion DESC, a.codigo, dia_semana;
